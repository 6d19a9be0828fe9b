import type { SearchedFile } from './search-query.ts';

/**
 * A page's files as columns. Files as objects take longer to send to a thread, because each object names its
 * properties.
 */
export interface SentPage {
  paths: string[];
  /** Texts on the heap, in file order. The other texts are in `buffers`. */
  texts: string[];
  buffers: SharedArrayBuffer[];
  /** For each file: `NUMBERS` numbers. */
  numbers: Float64Array;
}

/** Size, change time, index in `buffers` (-1 for a text on the heap), start, end, and whether the text is ASCII. */
const NUMBERS = 6;

export function sentPage(files: readonly SearchedFile[]): SentPage {
  const page: SentPage = {
    paths: files.map(({ path }) => path),
    texts: [],
    buffers: [],
    numbers: new Float64Array(NUMBERS * files.length),
  };
  const indexes = new Map<SharedArrayBuffer, number>();
  for (const [i, { content, bytes, modified }] of files.entries()) {
    let columns = [bytes, modified, -1];
    if (typeof content === 'string') {
      page.texts.push(content);
    } else {
      const { buffer, start, end, isAscii } = content;
      const index = indexes.get(buffer) ?? page.buffers.push(buffer) - 1;
      indexes.set(buffer, index);
      columns = [bytes, modified, index, start, end, Number(isAscii)];
    }
    page.numbers.set(columns, i * NUMBERS);
  }
  return page;
}

export function receivedFiles({ paths, texts, buffers, numbers }: SentPage): SearchedFile[] {
  let text = 0;
  return paths.map((path, i) => {
    const at = i * NUMBERS;
    const [bytes = 0, modified = 0, index = -1, start = 0, end = 0, isAscii] = numbers.subarray(
      at,
      at + NUMBERS,
    );
    const buffer = buffers[index];
    const content =
      buffer === undefined ? (texts[text++] ?? '') : { buffer, start, end, isAscii: isAscii === 1 };
    return { path, content, bytes, modified };
  });
}
