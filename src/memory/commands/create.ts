import { z } from 'zod';
import { alreadyExists, created, fileTooLarge, notADirectory } from '../messages.ts';
import { parsePath, ROOT } from '../path.ts';
import { failure, success } from '../result.ts';
import { defineCommand, pathField, textField } from './command.ts';
import { overQuota } from './quota.ts';

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
  async execute({ path: given, file_text: content }, { store, limits }) {
    const parsed = parsePath(given);
    if (!parsed.ok) return failure(parsed.refusal);
    const { path } = parsed;
    if (limits.maxFileBytes > 0 && Buffer.byteLength(content) > limits.maxFileBytes) {
      return failure(fileTooLarge(path, limits.maxFileBytes));
    }
    if (path === ROOT) return failure(alreadyExists(path));
    const outcome = await store.create(path, content);
    switch (outcome.kind) {
      case 'created':
        return success(created(path));
      case 'exists':
        return failure(alreadyExists(path));
      case 'not_a_directory':
        return failure(notADirectory(outcome.path));
      case 'over_quota':
        return overQuota(outcome);
    }
  },
});
