import type { DraftChange, Resolution } from '../../api/drafts.ts';
import type { Route } from '../../router.ts';
import { keptSignal } from '../../ui/kept.ts';
import { addUnsaved, removeUnsaved } from '../../ui/unsaved.ts';
import { hasMarks } from './own-text.ts';
import type { Side } from './regions.ts';

/** `parts`: another side for each part of the file. */
export type Choice = 'draft' | 'original' | 'parts' | 'text';

/** The reviewer's resolution of a file. */
export interface Settlement {
  choice: Choice;
  /** The reviewer's text, kept while another choice is selected. */
  text: string | null;
  /** Chosen side of each part, and the text of all parts once each part has a side. */
  parts?: { sides: (Side | null)[]; text: string | null };
  /** State of the change that the reviewer resolved. If the change has another state, it must be reviewed again. */
  of: string;
}

/** Resolutions by memory ID of the file. */
export type Settlements = ReadonlyMap<string, Settlement>;

interface Review {
  tenant: string;
  draft: string;
  /** Resolutions with their keys, in a form that JSON can represent. */
  settlements: [string, Settlement][];
}

/** The review in progress. A signal outside the page keeps the review after the session ends, and after a reload. */
const review = keptSignal<Review>('review');

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

if (review.value !== null) addUnsaved(unsaved);

export const forgetSettlements = () => setReview(null);

export function settlementsOf(tenant: string, draft: string): Settlements {
  const { value } = review;
  return new Map(value?.tenant === tenant && value.draft === draft ? value.settlements : []);
}

/** @param settlement null for the automatic merge */
export function settle(tenant: string, draft: string, id: string, settlement: Settlement | null): void {
  const settlements = new Map(settlementsOf(tenant, draft));
  if (settlement === null) settlements.delete(id);
  else settlements.set(id, settlement);
  setReview(settlements.size === 0 ? null : { tenant, draft, settlements: [...settlements] });
}

/** Returns a comparable representation of a change. */
export const stateOf = (change: DraftChange) => JSON.stringify(change);

export type Progress = 'merges' | 'open' | 'settled' | 'marked' | 'stale';

/**
 * Review progress of a file.
 * - `merges`: merges automatically.
 * - `open`: has an unresolved conflict, or parts without a choice.
 * - `marked`: its text still contains conflict markers.
 * - `stale`: changed after it was resolved.
 */
export function progressOf(change: DraftChange, settlement: Settlement | undefined): Progress {
  if (settlement === undefined) return change.conflict === null ? 'merges' : 'open';
  if (settlement.of !== stateOf(change)) return 'stale';
  if (settlement.choice === 'parts') return textOf(settlement) === null ? 'open' : 'settled';
  return settlement.choice === 'text' && hasMarks(settlement.text ?? '') ? 'marked' : 'settled';
}

/** Returns the text that a resolution gives to the file, if the resolution has one. */
export function textOf({ choice, text, parts }: Settlement): string | null {
  if (choice === 'parts') return parts?.text ?? null;
  return choice === 'text' ? (text ?? '') : null;
}

/** Returns the changes that prevent a merge. */
export const unsettled = (changes: readonly DraftChange[], settlements: Settlements) =>
  changes.filter((change) =>
    ['open', 'marked', 'stale'].includes(progressOf(change, settlements.get(change.memory_id))),
  );

/** Returns the resolutions to send with a merge, except for files that no longer differ in the draft. */
export function resolutionsOf(changes: readonly DraftChange[], settlements: Settlements): Resolution[] {
  return changes.flatMap(({ memory_id, in_draft }): Resolution[] => {
    const settlement = settlements.get(memory_id);
    if (settlement === undefined || in_draft === null) return [];
    const { choice } = settlement;
    if (choice === 'draft' || choice === 'original') return [{ memory_id, take: choice }];
    return [{ memory_id, text: textOf(settlement) ?? '' }];
  });
}
