import { signal } from '@preact/signals';

/** Counts the changes that this page made, so that what shows the state of a tenant loads it again. */
export const changesMade = signal(0);

export function changed(): void {
  changesMade.value++;
}
