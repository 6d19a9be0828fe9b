import { z } from 'zod';
import { alreadyExists, created, notADirectory } from '../messages.ts';
import { parsePath, ROOT } from '../path.ts';
import { failure } from '../result.ts';
import { defineCommand, pathField, textField } from './command.ts';
import { applyWritePolicy } from './edit.ts';
import { overQuota } from './quota.ts';
import { refuseSecretPath } from './redaction.ts';

export const create = defineCommand({
  name: 'create',
  description: 'Makes a new file; nothing may be at its path yet.',
  access: 'write',
  schema: z.object({
    command: z.literal('create'),
    path: pathField('The file to create. Missing directories above it are made.', '/memories/notes.txt'),
    file_text: textField(
      'The content, kept byte for byte.',
      'Meeting notes:\n- Discussed project timeline\n- Next steps defined\n',
    ),
  }),
  async execute({ path: given, file_text: text }, context) {
    const parsed = parsePath(given);
    if (!parsed.ok) return failure(parsed.refusal);
    const { path } = parsed;
    const refusal = await refuseSecretPath(path, context);
    if (refusal) return refusal;
    const change = { content: text, start: 0, end: text.length };
    const { content, result } = await applyWritePolicy(path, undefined, change, () => created(path), context);
    if (content === undefined) return result;
    if (path === ROOT) return failure(alreadyExists(path));
    const outcome = await context.store.create(path, content, result);
    switch (outcome.kind) {
      case 'created':
        return result;
      case 'exists':
        return failure(alreadyExists(path));
      case 'not_a_directory':
        return failure(notADirectory(outcome.path));
      case 'over_quota':
        return overQuota(outcome);
    }
  },
});
