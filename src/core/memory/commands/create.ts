import { z } from 'zod';
import type { Rejection } from '../memory-store.ts';
import { createdMessage, invalidPath } from '../messages.ts';
import { type MemoryPath, parsePath, ROOT } from '../path.ts';
import { failure, type MemoryResult } from '../result.ts';
import { applyWritePolicy, rejectionResult } from './edit.ts';
import {
  defineCommand,
  type MemoryContext,
  pathField,
  rejectSecretPath,
  textField,
} from './memory-command.ts';

export const create = defineCommand({
  name: 'create',
  description:
    'Creates a file. Nothing may be at its path, unless the service or its tenant overwrites existing files.',
  access: 'write',
  definition: {
    use: 'Creates a file, and the directories above it. Use str_replace or insert to change a file that exists.',
    fields: { file_text: 'the content of the file.' },
  },
  schema: z.object({
    command: z.literal('create'),
    path: pathField('The file to create. Missing directories above it are made.', '/memories/notes.txt'),
    file_text: textField(
      'The content, kept byte for byte.',
      'Meeting notes:\n- Discussed project timeline\n- Next steps defined\n',
    ),
  }),
  async run({ path: given, file_text: text }, context) {
    const parsed = parsePath(given);
    if (!parsed.ok) return failure(invalidPath(parsed.problem));
    const file = await createFile(parsed.path, text, context);
    return file.kind === 'created' ? file.result : rejectionResult(file);
  },
});

/** Outcome of `create`: the stored content and the result for the model, or the reason for the rejection. */
export type NewFile = { kind: 'created'; content: string; result: MemoryResult } | Rejection;

/**
 * Creates a file, or replaces an existing file's content if the setting allows it. For a directory, the outcome remains
 * `exists`.
 */
export async function createFile(path: MemoryPath, text: string, context: MemoryContext): Promise<NewFile> {
  const rejection = await rejectSecretPath(path, context);
  if (rejection) return rejection;
  const change = { content: text, start: 0, end: text.length };
  const edit = await applyWritePolicy(path, undefined, change, () => createdMessage(path), context);
  if ('rejection' in edit) return edit.rejection;
  if (path === ROOT) return { kind: 'exists', path };
  const { store, createExisting } = context;
  const { content, result } = edit;
  const newFile = { kind: 'created', content, result } as const;
  const replaceAll = () => ({ content, start: 0, end: content.length, result });
  for (;;) {
    const outcome = await store.create(path, content, result);
    if (outcome.kind === 'created') return newFile;
    if (outcome.kind !== 'exists') return outcome;
    if (createExisting === 'error') return { kind: 'exists', path };
    const edited = await store.edit(path, replaceAll);
    if (edited.kind === 'over_quota') return edited;
    if (edited.kind !== 'missing') return newFile;
    if ((await store.lookup(path, 0)).kind === 'dir') return { kind: 'exists', path };
    // Another request deleted or replaced the file in the meantime, so the next round starts from the current state.
  }
}
