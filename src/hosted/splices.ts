import { LRUCache } from 'lru-cache';

/** What an archive keeps of a content: the whole, or what makes it of the next newer version. */
export interface KeptText {
  splice_start: number | null;
  splice_length: number | null;
  content: string;
}

/** How many bytes of newer contents are kept for comparison. Without them, a content is stored whole. */
const HELD_BYTES = 64 * 1024 * 1024;
/** No content takes more splices than this to make. */
const LONGEST_CHAIN = 255;

interface Newer {
  bytes: Buffer;
  /** How many splices make it. */
  splices: number;
}

/** Turns contents into splices as they come, the newest of a memory first. */
export class Splices {
  readonly #newer = new LRUCache<string, Newer>({
    maxSize: HELD_BYTES,
    sizeCalculation: ({ bytes }) => bytes.length + 100,
  });

  /** The next older version of a memory is kept as a whole: the one before has no content, or that of a live file. */
  restart(memory: string): void {
    this.#newer.delete(memory);
  }

  add(memory: string, content: string): KeptText {
    const bytes = Buffer.from(content);
    const newer = this.#newer.get(memory);
    const splice =
      newer === undefined || newer.splices === LONGEST_CHAIN ? undefined : spliceOf(newer.bytes, bytes);
    const isSmaller = splice !== undefined && splice.text.length < bytes.length;
    this.#newer.set(memory, { bytes, splices: isSmaller ? (newer?.splices ?? 0) + 1 : 0 });
    if (!isSmaller) return { splice_start: null, splice_length: null, content };
    return { splice_start: splice.start, splice_length: splice.length, content: splice.text.toString() };
  }
}

/** The shortest range of bytes of `from`, of whole characters, whose replacement by `text` makes `to` of it. */
function spliceOf(from: Buffer, to: Buffer): { start: number; length: number; text: Buffer } {
  const shorter = Math.min(from.length, to.length);
  let start = 0;
  while (start < shorter && from[start] === to[start]) start++;
  while (start > 0 && (isInCharacter(from, start) || isInCharacter(to, start))) start--;
  let same = 0;
  while (same < shorter - start && from[from.length - 1 - same] === to[to.length - 1 - same]) same++;
  while (same > 0 && isInCharacter(from, from.length - same)) same--;
  return { start, length: from.length - same - start, text: to.subarray(start, to.length - same) };
}

/** Whether a byte continues a character of UTF-8. */
function isInCharacter(bytes: Buffer, index: number): boolean {
  return ((bytes[index] ?? 0) & 0xc0) === 0x80;
}
