import { withoutCase } from '../files/search/match-lines.ts';
import { bordersOf, occurrencesOf } from '../memory/text.ts';

/** A text to erase, as matched by a literal search. */
export interface ErasedText {
  text: string;
  ignoresCase: boolean;
}

/** Whether a content contains the text. */
export function containsText(content: string, { text, ignoresCase }: ErasedText): boolean {
  return ignoresCase ? withoutCase(content).includes(withoutCase(text)) : content.includes(text);
}

/**
 * Replaces the text in a content. The result never contains the text: where a replacement completes the text with its
 * neighbors, the text is removed instead.
 */
export function eraseText(content: string, erased: ErasedText, replacement: string): string {
  const replaced = replaceText(content, erased, replacement);
  return containsText(replaced, erased) ? removeText(replaced, erased) : replaced;
}

function replaceText(content: string, erased: ErasedText, replacement: string): string {
  const { units, startOf, endOf } = comparedUnits(content, erased);
  const text = comparedText(erased);
  const parts: string[] = [];
  let end = 0;
  for (const offset of occurrencesOf(text, units)) {
    const start = startOf(offset);
    // Two matches can share a character, such as the two halves of `ß`.
    if (start >= end) parts.push(content.slice(end, start), replacement);
    end = endOf(offset + text.length - 1);
  }
  parts.push(content.slice(end));
  return parts.join('');
}

/** Removes the text repeatedly until it no longer occurs, in linear time. */
function removeText(content: string, erased: ErasedText): string {
  const { units, startOf, endOf } = comparedUnits(content, erased);
  const text = comparedText(erased);
  const borders = bordersOf(text);
  // Offsets of the kept units, and the length of the prefix of the text that ends at each.
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
    const start = startOf(kept[size] as number);
    // The other units of the first and the last character are removed too.
    while (size > 0 && startOf(kept[size - 1] as number) === start) size--;
    for (const end = endOf(i); i + 1 < units.length && endOf(i + 1) === end; ) i++;
  }
  const parts: string[] = [];
  let from = 0;
  let end = 0;
  for (let k = 0; k < size; k++) {
    const start = startOf(kept[k] as number);
    if (start > end) {
      parts.push(content.slice(from, end));
      from = start;
    }
    end = endOf(kept[k] as number);
  }
  parts.push(content.slice(from, end));
  return parts.join('');
}

function comparedText({ text, ignoresCase }: ErasedText): string {
  return ignoresCase ? withoutCase(text) : text;
}

/** The units that are compared, and the range of the character of each in the content. */
interface ComparedUnits {
  units: string;
  startOf(unit: number): number;
  endOf(unit: number): number;
}

function comparedUnits(content: string, { ignoresCase }: ErasedText): ComparedUnits {
  const units = ignoresCase ? withoutCase(content) : content;
  if (!ignoresCase) return { units, startOf: (unit) => unit, endOf: (unit) => unit + 1 };
  // The case of a character can change its length: `ß` is compared as `ss`.
  const starts = new Int32Array(units.length);
  const ends = new Int32Array(units.length);
  let unit = 0;
  let at = 0;
  for (const character of content) {
    const end = at + character.length;
    for (const to = unit + withoutCase(character).length; unit < to; unit++) {
      starts[unit] = at;
      ends[unit] = end;
    }
    at = end;
  }
  return {
    units,
    startOf: (offset) => starts[offset] as number,
    endOf: (offset) => ends[offset] as number,
  };
}
