import { changed } from '../../api/changes.ts';
import { revert } from '../../api/history.ts';
import { session } from '../../api/session.ts';
import type { Changes } from '../../api/types.ts';
import { actorFilter } from '../../text/actor.ts';
import { count } from '../../text/format.ts';
import { toast } from '../../ui/toasts.ts';

/**
 * Returns a function that undoes exactly the change that this page made. Returns undefined if the change cannot be
 * undone.
 */
export function undoOf(
  tenant: string,
  { changed_at }: Pick<Changes, 'changed_at'>,
  by = session.value === null ? null : actorFilter(session.value.actor),
): (() => Promise<void>) | undefined {
  if (by === null || changed_at === null) return undefined;
  return async () => {
    const undone = await revert(tenant, { by, since: changed_at, until: changed_at });
    changed();
    const left = undone.conflicts?.length ?? 0;
    const note = left === 0 ? '' : ` ${count(left, 'file')} left alone: others have changed it since.`;
    toast(`Undone: ${undone.summary}.${note}`, undoOf(tenant, undone));
  };
}
