/**
 * A text outside the heap, in memory that all threads share, so it is sent to a thread without a copy. The buffer holds
 * several files' texts, and never changes.
 */
export interface SharedText {
  buffer: SharedArrayBuffer;
  start: number;
  end: number;
  /** Whether the text has one byte per character. Other texts are in UTF-16. */
  isAscii: boolean;
}

interface Text {
  content: string;
  /** Content size in UTF-8 bytes. */
  bytes: number;
}

/** Returns the same files with their contents in one shared buffer. */
export function shareTexts<File extends Text>(
  files: readonly File[],
): (Omit<File, 'content'> & { content: SharedText })[] {
  const sizes = files.map(textSize);
  const buffer = new SharedArrayBuffer(sizes.reduce((sum, size) => sum + size, 0));
  const view = Buffer.from(buffer);
  let end = 0;
  return files.map((file, i) => {
    const start = end;
    end += sizes[i] ?? 0;
    const isAscii = file.bytes === file.content.length;
    view.write(file.content, start, isAscii ? 'latin1' : 'utf16le');
    return { ...file, content: { buffer, start, end, isAscii } };
  });
}

/** Copies the files' texts to one new buffer, without the other texts in their buffers. */
export function compactTexts<File extends { content: SharedText }>(files: readonly File[]): File[] {
  const buffer = new SharedArrayBuffer(
    files.reduce((sum, { content }) => sum + content.end - content.start, 0),
  );
  const view = Buffer.from(buffer);
  let next = 0;
  return files.map((file) => {
    const { buffer: from, ...content } = file.content;
    const start = next;
    next += Buffer.from(from).copy(view, start, content.start, content.end);
    return { ...file, content: { ...content, buffer, start, end: next } };
  });
}

function textSize({ content, bytes }: Text): number {
  return bytes === content.length ? bytes : 2 * content.length;
}

export function readText(text: string | SharedText): string {
  if (typeof text === 'string') return text;
  const { buffer, start, end, isAscii } = text;
  return Buffer.from(buffer).toString(isAscii ? 'latin1' : 'utf16le', start, end);
}
