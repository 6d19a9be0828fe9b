import { changed } from '../../api/changes.ts';
import { listVersions, restore } from '../../api/history.ts';

/**
 * How to undo a deletion that was just made: what was there comes back as it was before.
 *
 * @returns undefined when the history does not have it: it keeps files, and the tenant may keep none
 */
export async function undoOfDeletion(
  tenant: string,
  path: string,
): Promise<(() => Promise<void>) | undefined> {
  const [last] = (await listVersions(tenant, { path, limit: 1 })).versions;
  if (last?.operation !== 'deleted') return undefined;
  const at = justBefore(last.created_at);
  return async () => {
    await restore(tenant, { at, path }, false);
    changed();
  };
}

/** A microsecond earlier: what changes at a moment counts as done at it. */
function justBefore(time: string): string {
  const [, start = '', micros = ''] = /^(.*\.\d{3})(\d{3})Z$/.exec(time) ?? [];
  if (Number(micros) > 0) return `${start}${String(Number(micros) - 1).padStart(3, '0')}Z`;
  return new Date(Date.parse(time) - 1).toISOString().replace('Z', '999Z');
}
