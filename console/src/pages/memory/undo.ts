import { listVersions } from '../../api/history.ts';
import { undoOf } from '../history/undo.ts';

/**
 * How to undo a deletion that was just made.
 *
 * @returns undefined when the history does not have it: it keeps files, and the tenant may keep none
 */
export async function undoOfDeletion(
  tenant: string,
  path: string,
): Promise<(() => Promise<void>) | undefined> {
  const [last] = (await listVersions(tenant, { path, limit: 1 })).versions;
  return last?.operation === 'deleted' ? undoOf(tenant, { changed_at: last.created_at }) : undefined;
}
