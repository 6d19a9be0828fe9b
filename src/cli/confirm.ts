import { createInterface } from 'node:readline/promises';
import { OperatorError } from '../errors.ts';
import type { Io } from './io.ts';

/**
 * Asks before something that cannot be undone. Ctrl-C and Ctrl-D mean no.
 *
 * @param outcome what a no comes to, such as `Nothing was erased.`
 * @throws OperatorError for a no, and where nobody can be asked.
 */
export async function confirm({ stdin, stderr }: Io, question: string, outcome: string): Promise<void> {
  if (!stdin.isTTY) throw new OperatorError(`${question} Add --yes to do it without being asked. ${outcome}`);
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
  // Ended without an answer: what comes next begins a line of its own.
  stderr.write('\n');
  throw new OperatorError(outcome);
}
