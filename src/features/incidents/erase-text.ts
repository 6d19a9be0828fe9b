import { borderLengths, findOccurrences } from '../../core/memory/text-changes.ts';
import { comparedUnits, containsText, type SoughtText, soughtUnits } from './compared-text.ts';

/**
 * Replaces the text in a content. The result never contains the text: where a replacement completes the text with its
 * neighbors, the text is removed instead.
 */
export function eraseText(content: string, erased: SoughtText, replacement: string): string {
  const replaced = replaceText(content, erased, replacement);
  if (!containsText(replaced, erased)) return replaced;
  return erased.isExact ? removeText(replaced, erased) : removeRepeatedly(replaced, erased);
}

/** Limit on repeated removals of a normalized text, after which the whole content is removed. */
const MAX_REMOVALS = 20;

/** Removes the text until the rest does not contain it. White space between two places can change with a removal. */
function removeRepeatedly(content: string, erased: SoughtText): string {
  let rest = content;
  for (let i = 0; i < MAX_REMOVALS; i++) {
    rest = replaceText(rest, erased, '');
    if (!containsText(rest, erased)) return rest;
  }
  return '';
}

function replaceText(content: string, erased: SoughtText, replacement: string): string {
  const { units, originStart, originEnd } = comparedUnits(content, erased);
  const text = soughtUnits(erased);
  const parts: string[] = [];
  let end = 0;
  for (const offset of findOccurrences(text, units)) {
    const start = originStart(offset);
    // Two matches can share a character, such as the two halves of `ß`.
    if (start >= end) parts.push(content.slice(end, start), replacement);
    end = originEnd(offset + text.length - 1);
  }
  parts.push(content.slice(end));
  return parts.join('');
}

/** Removes an exact text repeatedly until it no longer occurs, in linear time. */
function removeText(content: string, erased: SoughtText): string {
  const { units, originStart, originEnd } = comparedUnits(content, erased);
  const text = soughtUnits(erased);
  const borders = borderLengths(text);
  // The kept units' offsets, and the length of the text prefix that ends at each unit.
  const kept = new Int32Array(units.length);
  const matched = new Int32Array(units.length);
  let size = 0;
  for (let i = 0; i < units.length; i++) {
    const unit = units.charCodeAt(i);
    let length = size === 0 ? 0 : (matched[size - 1] as number);
    while (length > 0 && text.charCodeAt(length) !== unit) length = borders[length - 1] as number;
    if (text.charCodeAt(length) === unit) length++;
    kept[size] = i;
    matched[size] = length;
    size++;
    if (length < text.length) continue;
    size -= text.length;
    const start = originStart(kept[size] as number);
    // The other units in the first and the last character are removed too.
    while (size > 0 && originStart(kept[size - 1] as number) === start) size--;
    for (const end = originEnd(i); i + 1 < units.length && originEnd(i + 1) === end; ) i++;
  }
  const parts: string[] = [];
  let from = 0;
  let end = 0;
  for (let k = 0; k < size; k++) {
    const start = originStart(kept[k] as number);
    if (start > end) {
      parts.push(content.slice(from, end));
      from = start;
    }
    end = originEnd(kept[k] as number);
  }
  parts.push(content.slice(from, end));
  return parts.join('');
}
