import { signal } from '@preact/signals';

const SHOWN_MS = 8000;
/** Long enough to read the message and to reconsider the change. */
const UNDO_SHOWN_MS = 60_000;
/** Maximum number of messages on the screen. A further message replaces the oldest one. */
const MAX_SHOWN = 5;

interface Toast {
  id: number;
  text: string;
  undo: (() => Promise<void>) | undefined;
}

export const toasts = signal<readonly Toast[]>([]);
let lastToast = 0;

/**
 * Shows a message for some seconds.
 *
 * @param undo the undo button's action; throws an error whose message is shown to the user
 */
export function toast(text: string, undo?: () => Promise<void>): void {
  const id = ++lastToast;
  toasts.value = withinLimit([...toasts.value, { id, text, undo }]);
  setTimeout(() => dismiss(id), undo ? UNDO_SHOWN_MS : SHOWN_MS);
}

/** Removes the oldest messages above the limit, first the messages without an undo button. */
function withinLimit(all: readonly Toast[]): readonly Toast[] {
  if (all.length <= MAX_SHOWN) return all;
  const oldest = all.slice(0, -1).find(({ undo }) => undo === undefined) ?? all[0];
  return withinLimit(all.filter((each) => each !== oldest));
}

export function dismiss(id: number): void {
  toasts.value = toasts.value.filter((each) => each.id !== id);
}

/**
 * Removes the messages about earlier actions, so that an error does not appear beside an old success. Keeps offers to
 * undo.
 */
export function dismissDone(): void {
  toasts.value = toasts.value.filter(({ undo }) => undo !== undefined);
}
