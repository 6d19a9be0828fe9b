import type { SoughtText } from './compared-text.ts';
import { eraseText } from './erase-text.ts';

export interface EraseTask {
  contents: string[];
  erased: SoughtText;
  replacement: string;
  /** Maximum size in bytes for each result. A longer result has no replacement. */
  maxBytes: number;
}

/** Erases a text from contents. Runs in a thread, because a large content takes longer than a request may wait. */
export default function eraseTexts({ contents, erased, replacement, maxBytes }: EraseTask): string[] {
  return contents.map((content) => {
    const replaced = eraseText(content, erased, replacement);
    const isTooLong = Buffer.byteLength(replaced) > Math.max(maxBytes, Buffer.byteLength(content));
    return isTooLong ? eraseText(content, erased, '') : replaced;
  });
}
