import type { ComponentChildren } from 'preact';

/**
 * Invisible characters: control and format characters, except tab and newline. They include direction overrides, and
 * the tag characters that only a model reads.
 */
// A joiner inside an emoji is harmless.
export const HIDDEN =
  /(?![\t\n])(?!(?<=\p{Extended_Pictographic}\uFE0F?)\u200D)[\p{Cc}\p{Cf}\p{Cs}\u2028\u2029]/gu;

/** Whether a text contains invisible characters. */
export function hasHidden(text: string): boolean {
  return text.search(HIDDEN) !== -1;
}

/** Splits a text into invisible characters and the texts between them. */
export function hiddenParts(text: string): { text: string; isHidden: boolean }[] {
  const parts: { text: string; isHidden: boolean }[] = [];
  let end = 0;
  for (const match of text.matchAll(HIDDEN)) {
    parts.push({ text: text.slice(end, match.index), isHidden: false });
    parts.push({ text: match[0], isHidden: true });
    end = match.index + match[0].length;
  }
  parts.push({ text: text.slice(end), isHidden: false });
  return parts.filter((part) => part.text !== '');
}

/** Maximum number of codes in a text, because a text may have a million invisible characters. */
export const MAX_CODES = 500;

/**
 * Renders a text with invisible characters shown as `U+202E`. After about `MAX_CODES` codes, highlights the remaining
 * text instead.
 */
export function revealHidden(text: string): ComponentChildren {
  if (!hasHidden(text)) return text;
  const parts = hiddenParts(text);
  // Each code has at most one text before it.
  const rest = parts.splice(2 * MAX_CODES);
  return [
    ...parts.map((part) =>
      part.isHidden ? <span class="hidden-character">{characterCode(part.text)}</span> : part.text,
    ),
    rest.length > 0 && <span class="hidden-character">{rest.map((part) => part.text).join('')}</span>,
  ];
}

/** Returns the same text as a plain string, for a tooltip. */
export function visibleText(text: string): string {
  return text.replace(HIDDEN, characterCode);
}

/** Names a character by its code, such as `U+202E`. */
export function characterCode(character: string): string {
  const code = character.codePointAt(0) ?? 0;
  return `U+${code.toString(16).toUpperCase().padStart(4, '0')}`;
}
