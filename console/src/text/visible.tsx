import type { ComponentChildren } from 'preact';

/**
 * Invisible characters: control and format characters, except tab and newline. They include direction overrides, and
 * the tag characters that only a model reads.
 */
// A joiner inside an emoji is harmless.
const HIDDEN = /(?![\t\n])(?!(?<=\p{Extended_Pictographic}\uFE0F?)\u200D)[\p{Cc}\p{Cf}\p{Cs}\u2028\u2029]/gu;

/** Whether a text contains invisible characters. */
export function hasHidden(text: string): boolean {
  return text.search(HIDDEN) !== -1;
}

/** Renders a text with invisible characters shown as `U+202E`. */
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

/** Returns the same text as a plain string, for a tooltip. */
export function visibleText(text: string): string {
  return text.replace(HIDDEN, nameOf);
}

function nameOf(character: string): string {
  const code = character.codePointAt(0) ?? 0;
  return `U+${code.toString(16).toUpperCase().padStart(4, '0')}`;
}
