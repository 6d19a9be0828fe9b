import { z } from 'zod';
import { cannotDeleteRoot, deleted, missing } from '../messages.ts';
import { parsePath, ROOT } from '../path.ts';
import { failure, success } from '../result.ts';
import { defineCommand, pathField } from './command.ts';
import { maskAnswer } from './secrets.ts';

export const deleteCommand = defineCommand({
  name: 'delete',
  description: 'Deletes a file, or a directory with everything in it.',
  access: 'write',
  schema: z.object({
    command: z.literal('delete'),
    path: pathField('The file, or the directory with everything in it, to delete.', '/memories/old_file.txt'),
  }),
  async execute({ path: given }, context) {
    const parsed = parsePath(given);
    if (!parsed.ok) return failure(parsed.refusal);
    const { path } = parsed;
    if (path === ROOT) return failure(cannotDeleteRoot);
    const answer = await maskAnswer(success(deleted(path)), context);
    const outcome = await context.store.delete(path, answer);
    return outcome.kind === 'deleted' ? answer : failure(missing(path));
  },
});
