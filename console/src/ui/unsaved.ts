import { effect, signal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import { askBeforeLeaving } from '../router.ts';
import { confirmDiscard } from './confirm.tsx';

/** Something that was typed and not saved. */
export interface Unsaved {
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

/** Asks about what is not saved, if there is anything; says whether it may be lost. */
export async function mayDiscard(): Promise<boolean> {
  if (unsaved.value.length === 0) return true;
  if (!(await confirmDiscard())) return false;
  for (const item of unsaved.value) item.discard();
  unsaved.value = [];
  return true;
}

const warn = (event: Event) => event.preventDefault();
effect(() => {
  const isClean = unsaved.value.length === 0;
  askBeforeLeaving(isClean ? null : mayDiscard);
  if (isClean) removeEventListener('beforeunload', warn);
  else addEventListener('beforeunload', warn);
});

/** Leaving the page asks, as long as a form has input. */
export function useUnsaved(hasInput: boolean): void {
  useEffect(() => {
    if (!hasInput) return;
    const item = { discard: () => {} };
    addUnsaved(item);
    return () => removeUnsaved(item);
  }, [hasInput]);
}
