import { z } from 'zod';
import type { PolicyRejection, Renamed } from '../memory-store.ts';
import {
  cannotRenameRoot,
  destinationExists,
  destinationInsideSource,
  invalidPath,
  missingMessage,
  renamedMessage,
} from '../messages.ts';
import { lengthProblem, type MemoryPath, parsePath, ROOT } from '../path.ts';
import { failure, type MemoryResult, success } from '../result.ts';
import { rejectionResult } from './edit.ts';
import {
  defineCommand,
  type MemoryContext,
  maskResult,
  pathField,
  rejectSecretPath,
} from './memory-command.ts';

export const rename = defineCommand({
  name: 'rename',
  description: 'Renames or moves a file or directory; nothing is overwritten.',
  access: 'write',
  definition: {
    use: 'Renames or moves a file or directory. An existing destination is not overwritten.',
    fields: { old_path: 'the path now.', new_path: 'the path afterward.' },
  },
  schema: z.object({
    command: z.literal('rename'),
    old_path: pathField('The file or directory to rename or move.', '/memories/draft.txt'),
    new_path: pathField(
      'Its new path; nothing may be there yet. Missing directories above it are made.',
      '/memories/final.txt',
    ),
  }),
  async run({ old_path: givenOld, new_path: givenNew }, context) {
    const source = parsePath(givenOld);
    if (!source.ok) return failure(invalidPath(source.problem));
    const destination = parsePath(givenNew);
    if (!destination.ok) return failure(invalidPath(destination.problem));
    const from = source.path;
    const to = destination.path;
    const outcome = await renamePath(from, to, context);
    switch (outcome.kind) {
      case 'renamed':
        return outcome.result;
      case 'root':
        return failure(cannotRenameRoot);
      case 'destination_exists':
        return failure(destinationExists(to));
      case 'source_missing':
        return failure(missingMessage(from));
      case 'inside_itself':
        return failure(destinationInsideSource(from, to));
      case 'too_long': {
        const problem = lengthProblem(outcome.path);
        if (problem === undefined) throw new Error('A path that is too long exceeds no limit.');
        return failure(invalidPath(problem));
      }
      default:
        return rejectionResult(outcome);
    }
  },
});

/** Reason why a path is not renamed. */
type NotRenamed = Exclude<Renamed, { kind: 'renamed' }> | PolicyRejection | { kind: 'root' };

/** Renames a file, or a directory with everything in it. Never renames the root. */
export async function renamePath(
  from: MemoryPath,
  to: MemoryPath,
  context: MemoryContext,
): Promise<{ kind: 'renamed'; result: MemoryResult } | NotRenamed> {
  if (from === ROOT) return { kind: 'root' };
  if (to === ROOT) return { kind: 'destination_exists' };
  const rejection = await rejectSecretPath(to, context);
  if (rejection) return rejection;
  const result = await maskResult(success(renamedMessage(from, to)), context);
  const outcome = await context.store.rename(from, to, result);
  return outcome.kind === 'renamed' ? { ...outcome, result } : outcome;
}
