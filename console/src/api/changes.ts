import { signal } from '@preact/signals';

/** Counts the changes that this page made, so that what shows the state of a tenant loads it again. */
export const changesMade = signal(0);

export function changed(): void {
  changesMade.value++;
}

/**
 * Counts how often a part of a history was asked for that is not kept any more, so that its beginning is looked up
 * again.
 */
export const historyLosses = signal(0);

export function historyPruned(): void {
  historyLosses.value++;
}
