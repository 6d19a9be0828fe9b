import { IdempotentReplay } from '../memory-store.ts';
import { invalidField, isMissing, mustBeAString, readOnly, unknownCommand } from '../messages.ts';
import { failure, type MemoryResult, rejection } from '../result.ts';
import { create } from './create.ts';
import { deleteCommand } from './delete.ts';
import { insert } from './insert.ts';
import { firstProblem, type MemoryCommand, type MemoryContext, maskResult } from './memory-command.ts';
import { rename } from './rename.ts';
import { strReplace } from './str-replace.ts';
import { view } from './view.ts';

/** All commands, in the same order as in the documentation and in the error for an unknown command. */
export const commands: readonly MemoryCommand[] = [view, create, strReplace, insert, deleteCommand, rename];

const commandsByName = new Map(commands.map((command) => [command.name, command]));

export function findCommand(name: unknown): MemoryCommand | undefined {
  return typeof name === 'string' ? commandsByName.get(name) : undefined;
}

/** Command result. `replayed` marks a stored result, for which the command was not executed again. */
export type Executed = MemoryResult & { replayed?: true };

/**
 * Executes one memory tool input (`{"command": …}`), valid or not, and returns the result for the model.
 *
 * @param command the command in the input; undefined if the input names none
 */
export async function executeCommand(
  command: MemoryCommand | undefined,
  input: Record<string, unknown>,
  context: MemoryContext,
): Promise<Executed> {
  if (command === undefined) return failure(describeUnknown(input.command));
  const isWrite = command.access === 'write';
  if (isWrite && context.access === 'read_only') return rejection(readOnly, 'read_only');
  const parsed = command.schema.safeParse(input);
  if (!parsed.success) return failure(invalidField(command.name, ...firstProblem(parsed.error.issues)));
  if (!isWrite) return await command.run(parsed.data, context);
  try {
    const result = await command.run(parsed.data, context);
    if (!result.isError) return result;
    // Success messages are masked earlier, because they are stored with the change.
    const masked = await maskResult(result, context);
    await context.store.recordFailure(masked);
    return masked;
  } catch (error) {
    if (error instanceof IdempotentReplay) return { ...error.result, replayed: true };
    throw error;
  }
}

function describeUnknown(name: unknown): string {
  if (name === undefined || name === null) return invalidField('memory', 'command', isMissing);
  if (typeof name === 'object') return invalidField('memory', 'command', mustBeAString);
  return unknownCommand(typeof name === 'string' ? name : JSON.stringify(name), [...commandsByName.keys()]);
}
