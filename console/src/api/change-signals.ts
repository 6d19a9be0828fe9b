import { signal } from '@preact/signals';

/**
 * Number of changes made by this page. Each view with tenant data depends on the number, so each change reloads the
 * view.
 */
export const changesMade = signal(0);

export function noteChange(): void {
  changesMade.value++;
}

/** Number of requests for a pruned part of the history. Each such request reloads the start of the history. */
export const historyLosses = signal(0);

export function noteHistoryLoss(): void {
  historyLosses.value++;
}
