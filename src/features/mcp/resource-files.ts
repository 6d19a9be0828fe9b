/* Reads resources, which are files in the memory. */

import type { MemoryContext } from '../../core/memory/commands/memory-command.ts';
import { maxEntriesShown } from '../../core/memory/commands/view.ts';
import { invalidPath, viewMissing } from '../../core/memory/messages.ts';
import { parsePath, ROOT } from '../../core/memory/path.ts';
import { failure, type MemoryResult, success } from '../../core/memory/result.ts';

/** Reads the file content at a path, valid or not. */
export const fileAt =
  (given: string) =>
  async ({ store }: MemoryContext): Promise<MemoryResult> => {
    const parsed = parsePath(given);
    if (!parsed.ok) return failure(invalidPath(parsed.problem));
    const { path } = parsed;
    const found = await store.lookup(path, 1);
    switch (found.kind) {
      case 'missing':
        return failure(viewMissing(path));
      case 'dir':
        return failure(`${path} is a directory.`);
      case 'file':
        return success(found.content);
    }
  };

/** Lists the file paths in a view of the root, one per line. */
export async function listFiles({ store, limits }: MemoryContext): Promise<MemoryResult> {
  const found = await store.lookup(ROOT, maxEntriesShown(ROOT, limits.maxViewChars));
  if (found.kind !== 'dir') throw new Error('The root is not a directory.');
  return success(found.entries.flatMap(({ kind, path }) => (kind === 'file' ? path : [])).join('\n'));
}
