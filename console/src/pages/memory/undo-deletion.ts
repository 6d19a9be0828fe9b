import { listVersions } from '../../api/history-api.ts';
import { undoOf } from '../history/undo-changes.ts';

/**
 * Returns a function that undoes a deletion.
 *
 * @returns undefined if the history does not contain the deletion: a directory without files, or a tenant without a
 * history
 */
export async function undoOfDeletion(
  tenant: string,
  path: string,
): Promise<(() => Promise<void>) | undefined> {
  const [last] = (await listVersions(tenant, { path, limit: 1 })).versions;
  return last?.operation === 'deleted' ? undoOf(tenant, { changed_at: last.created_at }) : undefined;
}
