import { createInterface } from 'node:readline/promises';
import { Readable, type Writable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { OperatorError } from '../errors/errors.ts';
import { renameKeys, snakeCase } from '../lib/text-forms.ts';
import { amount, byteAmount } from '../lib/units.ts';

/** A command's streams: data is written to `stdout`, and messages to `stderr`. */
export interface Io {
  stdin: Readable & { isTTY?: boolean };
  stdout: Writable & { isTTY?: boolean };
  stderr: Writable & { isTTY?: boolean };
}

/**
 * Writes all chunks as fast as `output` accepts them. A reader that closes the output early (`| head`) is not an error.
 */
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

/**
 * Ignores a closed output (`| head`), so that the command completes its work. `print` and `export` handle a closed
 * output themselves.
 */
export function ignoreClosedReaders({ stdout, stderr }: Io): void {
  for (const output of [stdout, stderr]) {
    output.on('error', (error: NodeJS.ErrnoException) => {
      if (error.code !== 'EPIPE') throw error;
    });
  }
}

/** Formats a JSON array item by item. */
export async function* jsonArray(items: AsyncIterable<unknown>): AsyncGenerator<string> {
  let before = '[';
  for await (const item of items) {
    yield `${before}\n  ${JSON.stringify(renameKeys(item, snakeCase))}`;
    before = ',';
  }
  yield before === '[' ? '[]\n' : '\n]\n';
}

/** Shows a long operation's progress if the output is a terminal. */
export class Progress {
  readonly #terminal: Io['stderr'];
  readonly #verb: string;
  readonly #unit: string;
  #shown = 0;

  constructor(terminal: Io['stderr'], verb: string, unit = 'file') {
    this.#terminal = terminal;
    this.#verb = verb;
    this.#unit = unit;
  }

  update(items: number, bytes?: number): void {
    if (!this.#terminal.isTTY || items < this.#shown + 100) return;
    this.#shown = items;
    const size = bytes === undefined ? '' : `, ${byteAmount(bytes)}`;
    this.#terminal.write(`\r${this.#verb} ${amount(items, this.#unit)}${size}`);
  }

  /** Removes the progress from the terminal. */
  end(): void {
    if (this.#shown > 0) this.#terminal.write('\r\u001b[K');
    this.#shown = 0;
  }
}

/**
 * Asks to confirm an irreversible change. Ctrl-C and Ctrl-D count as "no".
 *
 * @param outcome the message after "no", such as `Nothing was deleted.`
 * @throws OperatorError after "no", or if standard input is not a terminal
 */
export async function confirm({ stdin, stderr }: Io, question: string, outcome: string): Promise<void> {
  if (!stdin.isTTY) throw new OperatorError(`${question} Add --yes to confirm. ${outcome}`);
  const terminal = createInterface({ input: stdin, output: stderr, terminal: stderr.isTTY ?? false });
  try {
    terminal.setPrompt(`${question} [y/N] `);
    terminal.prompt();
    for await (const answer of terminal) {
      if (/^y(es)?$/i.test(answer.trim())) return;
      throw new OperatorError(outcome);
    }
  } finally {
    terminal.close();
  }
  // The input ended without a line break, so the terminal is still on the question's line.
  stderr.write('\n');
  throw new OperatorError(outcome);
}
