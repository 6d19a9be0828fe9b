import { signal } from '@preact/signals';
import type { DraftChange, Resolution } from '../../api/drafts.ts';
import type { Route } from '../../router.ts';
import { addUnsaved, removeUnsaved } from '../../ui/unsaved.ts';
import { hasMarks } from './own-text.ts';

export type Choice = 'draft' | 'original' | 'text';

/** How a reviewer settles a file. */
export interface Settlement {
  choice: Choice;
  /** Kept while something else is chosen, so that it is not lost. */
  text: string | null;
  /** The change that it is for: when it is another one by now, it has to be looked at again. */
  of: string;
}

/** By the ids of the files. */
export type Settlements = ReadonlyMap<string, Settlement>;

interface Review {
  tenant: string;
  draft: string;
  settlements: Settlements;
}

/** It outlives the page, so that the end of a session does not lose it. */
const review = signal<Review | null>(null);

const unsaved = {
  question: {
    title: 'Discard your resolutions?',
    text: 'Your choices and texts are not saved before you merge.',
    verb: 'Discard',
    otherwise: 'Keep reviewing',
    isDangerous: true,
  },
  isKeptAt: ({ segments: [section, tenant, tab, draft] }: Route) =>
    section === 'tenants' &&
    tab === 'drafts' &&
    tenant === review.value?.tenant &&
    draft === review.value?.draft,
  discard: () => setReview(null),
};

function setReview(next: Review | null): void {
  if (next !== null && review.value === null) addUnsaved(unsaved);
  if (next === null) removeUnsaved(unsaved);
  review.value = next;
}

export const forgetSettlements = () => setReview(null);

const NONE: Settlements = new Map();

export function settlementsOf(tenant: string, draft: string): Settlements {
  const { value } = review;
  return value?.tenant === tenant && value.draft === draft ? value.settlements : NONE;
}

/** @param settlement null: as the merge does by itself */
export function settle(tenant: string, draft: string, id: string, settlement: Settlement | null): void {
  const settlements = new Map(settlementsOf(tenant, draft));
  if (settlement === null) settlements.delete(id);
  else settlements.set(id, settlement);
  setReview(settlements.size === 0 ? null : { tenant, draft, settlements });
}

/** What a settlement is for. */
export const stateOf = (change: DraftChange) => JSON.stringify(change);

export type Progress = 'merges' | 'open' | 'settled' | 'marked' | 'stale';

/**
 * How far a change is settled. `open`: a conflict that waits; `marked`: the text still has marks of conflicts;
 * `stale`: the file changed since.
 */
export function progressOf(change: DraftChange, settlement: Settlement | undefined): Progress {
  if (settlement === undefined) return change.conflict === null ? 'merges' : 'open';
  if (settlement.of !== stateOf(change)) return 'stale';
  return settlement.choice === 'text' && hasMarks(settlement.text ?? '') ? 'marked' : 'settled';
}

/** The changes that keep a draft from being merged. */
export const unsettled = (changes: readonly DraftChange[], settlements: Settlements) =>
  changes.filter((change) =>
    ['open', 'marked', 'stale'].includes(progressOf(change, settlements.get(change.memory_id))),
  );

/** What the merge is told. A file that has not changed any more has nothing to settle. */
export function resolutionsOf(changes: readonly DraftChange[], settlements: Settlements): Resolution[] {
  return changes.flatMap(({ memory_id, in_draft }): Resolution[] => {
    const settlement = settlements.get(memory_id);
    if (settlement === undefined || in_draft === null) return [];
    const { choice, text } = settlement;
    return choice === 'text' ? [{ memory_id, text: text ?? '' }] : [{ memory_id, take: choice }];
  });
}
