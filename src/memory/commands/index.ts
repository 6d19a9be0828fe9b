import { invalidField, isMissing, mustBeAString, readOnly, unknownCommand } from '../messages.ts';
import { failure, type MemoryResult } from '../result.ts';
import { IdempotentReplay } from '../store.ts';
import type { MemoryCommand, MemoryContext } from './command.ts';
import { create } from './create.ts';
import { deleteCommand } from './delete.ts';
import { insert } from './insert.ts';
import { maskAnswer } from './redaction.ts';
import { rename } from './rename.ts';
import { strReplace } from './str-replace.ts';
import { view } from './view.ts';

/** The commands, in the order in which the documentation and the error for an unknown one name them. */
export const commands: readonly MemoryCommand[] = [view, create, strReplace, insert, deleteCommand, rename];

const commandsByName = new Map(commands.map((command) => [command.name, command]));

/** The command that `name` names, or undefined. */
export function findCommand(name: unknown): MemoryCommand | undefined {
  return typeof name === 'string' ? commandsByName.get(name) : undefined;
}

/** A command's result, and whether it was given before: under the same idempotency key, without doing it again. */
export type Executed = MemoryResult & { replayed?: true };

/** Executes one memory tool input (`{"command": …}`), whatever is in it, and answers what the model should read. */
export async function executeCommand(
  input: Record<string, unknown>,
  context: MemoryContext,
): Promise<Executed> {
  const name = input.command;
  const command = findCommand(name);
  if (command === undefined) return failure(describeUnknown(name));
  if (command.access === 'read') return await command.run(input, context);
  if (context.access === 'read_only') return failure(readOnly);
  try {
    const result = await command.run(input, context);
    if (!result.isError) return result;
    // Successes are masked where they are made, since they are stored with the change.
    const masked = await maskAnswer(result, context);
    await context.store.recordFailure(masked);
    return masked;
  } catch (error) {
    if (error instanceof IdempotentReplay) return { ...error.answer, replayed: true };
    throw error;
  }
}

function describeUnknown(name: unknown): string {
  if (name === undefined || name === null) return invalidField('memory', 'command', isMissing);
  if (typeof name === 'object') return invalidField('memory', 'command', mustBeAString);
  return unknownCommand(typeof name === 'string' ? name : JSON.stringify(name), [...commandsByName.keys()]);
}
