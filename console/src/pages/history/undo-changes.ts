import type { Changes } from '../../api/api-types.ts';
import { noteChange } from '../../api/change-signals.ts';
import { revert } from '../../api/history-api.ts';
import { session } from '../../api/session-state.ts';
import { actorFilter } from '../../text/actor.ts';
import { count, keptOutText } from '../../text/format.ts';
import { toast } from '../../ui/toasts.ts';

/**
 * Returns a function that undoes exactly the change that this page made. Returns undefined if the change cannot be
 * undone.
 */
export function createUndo(
  tenant: string,
  { changed_at }: Pick<Changes, 'changed_at'>,
  by = session.value === null ? null : actorFilter(session.value.actor),
): (() => Promise<void>) | undefined {
  if (by === null || changed_at === null) return undefined;
  return async () => {
    const undone = await revert(tenant, { by, since: changed_at, until: changed_at });
    noteChange();
    toast(`${changeWarnings(undone)}Undone: ${undone.summary}.`, createUndo(tenant, undone));
  };
}

/** Describes the conflicts without a resolution and the texts that are kept out, for the beginning of a message. */
export function changeWarnings({
  conflicts = [],
  kept_out,
}: Pick<Changes, 'conflicts' | 'kept_out'>): string {
  const left = conflicts.filter(({ resolution }) => resolution === null).length;
  const warnings = [
    ...(left > 0 ? [`Not reverted: ${count(left, 'conflict')} with changes of others.`] : []),
    ...(kept_out.length > 0 ? [keptOutText(kept_out.length)] : []),
  ];
  return warnings.map((warning) => `${warning} `).join('');
}
