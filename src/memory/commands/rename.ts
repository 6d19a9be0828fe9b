import { z } from 'zod';
import {
  cannotRenameRoot,
  destinationExists,
  destinationInsideSource,
  invalidPath,
  missing,
  refused,
  renamed,
} from '../messages.ts';
import { lengthProblem, parsePath, ROOT } from '../path.ts';
import { failure, success } from '../result.ts';
import { defineCommand, pathField } from './command.ts';
import { maskAnswer, refuseSecretPath } from './secrets.ts';

export const rename = defineCommand({
  name: 'rename',
  description: 'Renames or moves a file or directory; nothing is overwritten.',
  access: 'write',
  schema: z.object({
    command: z.literal('rename'),
    old_path: pathField('The file or directory to rename or move.', '/memories/draft.txt'),
    new_path: pathField(
      'Its new path; nothing may be there yet. Missing directories above it are made.',
      '/memories/final.txt',
    ),
  }),
  async execute({ old_path: givenOld, new_path: givenNew }, context) {
    const source = parsePath(givenOld);
    if (!source.ok) return failure(invalidPath(source.problem));
    const destination = parsePath(givenNew);
    if (!destination.ok) return failure(invalidPath(destination.problem));
    const from = source.path;
    const to = destination.path;
    if (from === ROOT) return failure(cannotRenameRoot);
    if (to === ROOT) return failure(destinationExists(to));

    const refusal = await refuseSecretPath(to, context);
    if (refusal) return failure(refused(refusal));
    const answer = await maskAnswer(success(renamed(from, to)), context);
    const outcome = await context.store.rename(from, to, answer);
    switch (outcome.kind) {
      case 'renamed':
        return answer;
      case 'destination_exists':
        return failure(destinationExists(to));
      case 'source_missing':
        return failure(missing(from));
      case 'inside_itself':
        return failure(destinationInsideSource(from, to));
      case 'not_a_directory':
      case 'over_quota':
        return failure(refused(outcome));
      case 'too_long': {
        const problem = lengthProblem(outcome.path);
        if (problem === undefined) throw new Error('A path that is too long exceeds no limit.');
        return failure(invalidPath(problem));
      }
    }
  },
});
