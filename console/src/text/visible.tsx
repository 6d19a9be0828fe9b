import type { ComponentChildren } from 'preact';

/**
 * Characters that hide what a text says: control and format characters (among them those that turn the direction of
 * the text, and the tags that only a model reads), but tab and newline.
 */
// A joiner inside an emoji hides nothing.
const HIDDEN = /(?![\t\n])(?!(?<=\p{Extended_Pictographic}\uFE0F?)\u200D)[\p{Cc}\p{Cf}\p{Cs}\u2028\u2029]/gu;

/** Whether a text has characters that a reader would not see. */
export function hasHidden(text: string): boolean {
  return text.search(HIDDEN) !== -1;
}

/** A text with its hidden characters shown as `U+202E`. */
export function visible(text: string): ComponentChildren {
  if (!hasHidden(text)) return text;
  const parts: ComponentChildren[] = [];
  let end = 0;
  for (const match of text.matchAll(HIDDEN)) {
    parts.push(text.slice(end, match.index));
    parts.push(<span class="hidden-character">{nameOf(match[0])}</span>);
    end = match.index + match[0].length;
  }
  parts.push(text.slice(end));
  return parts;
}

/** The same as plain text, for a tooltip. */
export function visibleText(text: string): string {
  return text.replace(HIDDEN, nameOf);
}

function nameOf(character: string): string {
  const code = character.codePointAt(0) ?? 0;
  return `U+${code.toString(16).toUpperCase().padStart(4, '0')}`;
}
