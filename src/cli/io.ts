import { Readable, type Writable } from 'node:stream';
import { pipeline } from 'node:stream/promises';

/** Where a command reads and writes: data to `stdout`, what there is to say about it to `stderr`. */
export interface Io {
  stdin: Readable & { isTTY?: boolean };
  stdout: Writable & { isTTY?: boolean };
  stderr: Writable & { isTTY?: boolean };
}

/** Writes all of it, as fast as `output` takes it. Its reader may have enough of it early (`| head`). */
export async function print(
  output: Writable,
  chunks: Iterable<string> | AsyncIterable<string>,
): Promise<void> {
  try {
    await pipeline(Readable.from(chunks), output, { end: false });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EPIPE') throw error;
  }
}

/** Lets a command whose reader has seen enough (`| head`) run to its end. `print` and `export` notice by themselves. */
export function ignoreClosedReaders({ stdout, stderr }: Io): void {
  for (const output of [stdout, stderr]) {
    output.on('error', (error: NodeJS.ErrnoException) => {
      if (error.code !== 'EPIPE') throw error;
    });
  }
}

/** One JSON array, written item by item. */
export async function* jsonArray(items: AsyncIterable<unknown>): AsyncGenerator<string> {
  let before = '[';
  for await (const item of items) {
    yield `${before}\n  ${JSON.stringify(item)}`;
    before = ',';
  }
  yield before === '[' ? '[]\n' : '\n]\n';
}

/** `1 file`, `2 files`. */
export function amount(n: number, one: string, many = `${one}s`): string {
  return `${n} ${n === 1 ? one : many}`;
}

/** Says on a terminal how far a long work has come; elsewhere nothing. */
export class Progress {
  readonly #terminal: Io['stderr'];
  readonly #verb: string;
  #shown = 0;

  constructor(terminal: Io['stderr'], verb: string) {
    this.#terminal = terminal;
    this.#verb = verb;
  }

  update(files: number, bytes: number): void {
    if (!this.#terminal.isTTY || files < this.#shown + 100) return;
    this.#shown = files;
    this.#terminal.write(`\r${this.#verb} ${amount(files, 'file')}, ${amount(bytes, 'byte')}`);
  }

  /** Clears the line. */
  end(): void {
    if (this.#shown > 0) this.#terminal.write('\r\u001b[K');
    this.#shown = 0;
  }
}
