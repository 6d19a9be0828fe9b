import { effect, signal } from '@preact/signals';
import { useLayoutEffect } from 'preact/hooks';
import { guardLeaving, type Route } from '../router.ts';
import { confirm, DISCARD, type Question } from './confirm.tsx';

/** Something that was typed and not saved, or is shown only once. */
export interface Unsaved {
  /** By default, whether to discard changes. */
  question?: Question;
  /** Whether a place keeps it. By default, none but this one does. */
  isKeptAt?: (place: Route) => boolean;
  /** Called when the person gives it up. */
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
 * Asks about what is not saved, if there is anything; says whether it may be lost.
 *
 * @param to where the page goes; without, all is lost
 */
export async function mayDiscard(to?: Route): Promise<boolean> {
  const lost = lostAt(to);
  if (lost.length === 0) return true;
  if (!(await confirm(lost.at(-1)?.question ?? DISCARD))) return false;
  for (const item of lost) item.discard();
  unsaved.value = unsaved.value.filter((item) => !lost.includes(item));
  return true;
}

function lostAt(to: Route | undefined): readonly Unsaved[] {
  return to === undefined ? unsaved.value : unsaved.value.filter((item) => !item.isKeptAt?.(to));
}

const GUARD = { isNeeded: (to: Route) => lostAt(to).length > 0, ask: mayDiscard };
const warn = (event: Event) => event.preventDefault();
effect(() => {
  const isClean = unsaved.value.length === 0;
  guardLeaving(isClean ? null : GUARD);
  if (isClean) removeEventListener('beforeunload', warn);
  else addEventListener('beforeunload', warn);
});

/** Leaving the page asks, as long as something would be lost. */
export function useUnsaved(isUnsaved: boolean, question: Question = DISCARD): void {
  // Before anything else happens, such as a click right after the last key.
  useLayoutEffect(() => {
    if (!isUnsaved) return;
    const item = { question, discard: () => {} };
    addUnsaved(item);
    return () => removeUnsaved(item);
  }, [isUnsaved]);
}
