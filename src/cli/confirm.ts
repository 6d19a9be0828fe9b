import { createInterface } from 'node:readline/promises';
import { OperatorError } from '../errors.ts';
import type { Io } from './io.ts';

/**
 * Asks for confirmation of something that cannot be undone. Ctrl-C and Ctrl-D mean no.
 *
 * @param outcome the message after a no, such as `Nothing was deleted.`
 * @throws OperatorError for a no, and when standard input is not a terminal
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
  // The input ended without an answer and without a line break.
  stderr.write('\n');
  throw new OperatorError(outcome);
}
