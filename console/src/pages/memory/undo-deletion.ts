import { listVersions } from '../../api/history-api.ts';
import { createUndo } from '../history/undo-changes.ts';

/**
 * Returns a function that undoes a deletion.
 *
 * @returns undefined if the history does not contain the deletion: a directory without files, or a tenant without a
 * history
 */
export async function createDeletionUndo(
  tenant: string,
  path: string,
): Promise<(() => Promise<void>) | undefined> {
  const [last] = (await listVersions(tenant, { path, limit: 1 })).versions;
  return last?.operation === 'deleted' ? createUndo(tenant, { changed_at: last.created_at }) : undefined;
}
