import { effect, signal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import { askBeforeLeaving } from '../router.ts';
import { confirm, DISCARD, type Question } from './confirm.tsx';

/** Something that was typed and not saved, or is shown only once. */
export interface Unsaved {
  /** By default, whether to discard changes. */
  question?: Question;
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
  if (!(await confirm(unsaved.value.at(-1)?.question ?? DISCARD))) return false;
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

/** Leaving the page asks, as long as something would be lost. */
export function useUnsaved(isUnsaved: boolean, question: Question = DISCARD): void {
  useEffect(() => {
    if (!isUnsaved) return;
    const item = { question, discard: () => {} };
    addUnsaved(item);
    return () => removeUnsaved(item);
  }, [isUnsaved]);
}
