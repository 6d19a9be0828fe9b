import { effect, signal } from '@preact/signals';
import { useLayoutEffect } from 'preact/hooks';
import { guardLeaving, type Route } from '../router.ts';
import { confirm, DISCARD, type Question } from './confirm.tsx';

/** Input that is not saved, or a secret that is shown only once. */
export interface Unsaved {
  /** Question before the input is discarded. By default, `DISCARD`. */
  question?: Question;
  /** Whether the input survives navigation to a route. By default, no route keeps it. */
  isKeptAt?: (place: Route) => boolean;
  /** Called when the user discards the input. */
  discard: () => void;
}

const unsaved = signal<readonly Unsaved[]>([]);

export function addUnsaved(item: Unsaved): void {
  unsaved.value = [...unsaved.value, item];
}

export function removeUnsaved(item: Unsaved): void {
  unsaved.value = unsaved.value.filter((each) => each !== item);
}

/**
 * Asks before unsaved input is discarded. Returns whether it may be discarded.
 *
 * @param to the navigation's target; without a target, all unsaved input counts
 */
export async function mayDiscard(to?: Route): Promise<boolean> {
  const lost = findLost(to);
  if (lost.length === 0) return true;
  if (!(await confirm(lost.at(-1)?.question ?? DISCARD))) return false;
  for (const item of lost) item.discard();
  unsaved.value = unsaved.value.filter((item) => !lost.includes(item));
  return true;
}

function findLost(to: Route | undefined): readonly Unsaved[] {
  return to === undefined ? unsaved.value : unsaved.value.filter((item) => !item.isKeptAt?.(to));
}

const GUARD = { isNeeded: (to: Route) => findLost(to).length > 0, ask: mayDiscard };
const warn = (event: Event) => event.preventDefault();
effect(() => {
  const isClean = unsaved.value.length === 0;
  guardLeaving(isClean ? null : GUARD);
  if (isClean) removeEventListener('beforeunload', warn);
  else addEventListener('beforeunload', warn);
});

/** Asks before the user leaves the page, while there is unsaved input. */
export function useUnsaved(isUnsaved: boolean, question: Question = DISCARD): void {
  // A layout effect runs before the next event, such as a click right after the last key press.
  useLayoutEffect(() => {
    if (!isUnsaved) return;
    const item = { question, discard: () => {} };
    addUnsaved(item);
    return () => removeUnsaved(item);
  }, [isUnsaved]);
}
