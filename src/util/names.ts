import { storableText } from './storable-text.ts';

/** Control characters, line separators, and invisible ones such as bidirectional controls. Words and emoji need the joiners. */
const UNSAFE = /[\p{Cc}\p{Zl}\p{Zp}]|(?![\u200c\u200d])\p{Cf}/u;

/** The rule for labels, sources, titles and display names, which headers, logs, terminals and shells have to carry. */
export const NAME_RULE =
  'must be one line without control and invisible characters, without spaces at its ends, and must not start with "-"';

export function isName(text: string): boolean {
  return !UNSAFE.test(text) && text.trim() === text && !text.startsWith('-');
}

/** A new label, source, title or display name. Existing ones are not checked. */
export const nameText = (maxLength: number) => storableText(maxLength).refine(isName, NAME_RULE);
