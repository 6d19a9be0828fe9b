import { withoutCase } from '../files/search/match-lines.ts';

/** A text to erase, as matched by a literal search. */
export interface ErasedText {
  text: string;
  ignoresCase: boolean;
}

/** Whether a content contains the text. */
export function containsText(content: string, { text, ignoresCase }: ErasedText): boolean {
  return ignoresCase ? withoutCase(content).includes(withoutCase(text)) : content.includes(text);
}
