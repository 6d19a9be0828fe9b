import { z } from 'zod';
import { cannotDeleteRoot, deletedMessage, invalidPath, missingMessage } from '../messages.ts';
import { type MemoryPath, parsePath, ROOT } from '../path.ts';
import { failure, type MemoryResult, success } from '../result.ts';
import { defineCommand, type MemoryContext, maskResult, pathField } from './memory-command.ts';

export const deleteCommand = defineCommand({
  name: 'delete',
  description: 'Deletes a file, or a directory with everything in it.',
  access: 'write',
  definition: {
    use: 'Deletes a file, or a directory with everything in it.',
  },
  schema: z.object({
    command: z.literal('delete'),
    path: pathField('The file, or the directory with everything in it, to delete.', '/memories/old_file.txt'),
  }),
  async run({ path: given }, context) {
    const parsed = parsePath(given);
    if (!parsed.ok) return failure(invalidPath(parsed.problem));
    const { path } = parsed;
    const outcome = await deletePath(path, context);
    switch (outcome.kind) {
      case 'deleted':
        return outcome.result;
      case 'root':
        return failure(cannotDeleteRoot);
      case 'missing':
        return failure(missingMessage(path));
    }
  },
});

/** Deletes a file, or a directory with everything in it. Never deletes the root. */
export async function deletePath(
  path: MemoryPath,
  context: MemoryContext,
): Promise<{ kind: 'deleted'; result: MemoryResult } | { kind: 'root' | 'missing' }> {
  if (path === ROOT) return { kind: 'root' };
  const result = await maskResult(success(deletedMessage(path)), context);
  const { kind } = await context.store.delete(path, result);
  return kind === 'deleted' ? { kind, result } : { kind };
}
