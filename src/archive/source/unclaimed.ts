import { ServiceError } from '../../errors.ts';

/** More than all headers of an entry have, and more zeros than any tar program writes at the end. */
const MOST = 16 * 1024 * 1024;

/**
 * The bytes of an archive that are not content of an entry: the headers before the next entry and, after the last one, the end. Needed
 * because tar-stream decodes headers, some of them irreversibly.
 */
export class Unclaimed {
  #held: Uint8Array[] = [];
  #length = 0;
  /** The offset of `held` in the archive. */
  #start = 0;
  #passed = 0;

  /** @throws ServiceError when there are more bytes than an archive can have */
  push(chunk: Uint8Array): void {
    const wanted = chunk.subarray(Math.max(0, this.#start - this.#passed));
    this.#passed += chunk.length;
    if (wanted.length > 0) this.#held.push(wanted);
    this.#length += wanted.length;
    if (this.#length > MOST) throw new ServiceError('not_an_archive');
  }

  /** Returns the bytes before an entry, whose content starts at `from` and ends before `to`. */
  before(from: number, to: number): Buffer {
    const held = this.rest();
    const left = held.subarray(to - this.#start);
    const headers = held.subarray(0, from - this.#start);
    this.#held = [left];
    this.#length = left.length;
    this.#start = to;
    return headers;
  }

  /** Returns the bytes after the last entry. */
  rest(): Buffer {
    const [first] = this.#held;
    return this.#held.length === 1 && first
      ? Buffer.from(first.buffer, first.byteOffset, first.length)
      : Buffer.concat(this.#held);
  }
}
