import { signal } from '@preact/signals';
import { KEPT, queries } from './queries.ts';

/** Number of changes noted. A view whose result is not kept depends on the number, so each change reloads the view. */
export const changesMade = signal(0);

/** Reloads the views with tenant data, after a change by this page or a report of one by others. */
export function noteChange(): void {
  changesMade.value++;
  void queries.invalidateQueries({ queryKey: [KEPT] });
}

/** Number of requests for a pruned part of the history. Each such request reloads the start of the history. */
export const historyLosses = signal(0);

export function noteHistoryLoss(): void {
  historyLosses.value++;
}
