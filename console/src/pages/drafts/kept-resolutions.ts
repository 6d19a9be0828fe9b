import type { DraftChange, ResolutionInput } from '../../api/drafts-api.ts';
import type { Route } from '../../router.ts';
import { hasMarks } from '../../text/conflict-marks.ts';
import { keptSignal } from '../../ui/kept.ts';
import { addUnsaved, removeUnsaved } from '../../ui/unsaved.ts';

export type Choice = 'draft' | 'original' | 'text';

/** The reviewer's resolution for a file. */
export interface Resolution {
  choice: Choice;
  /** The reviewer's text, kept while another choice is selected. */
  text: string | null;
  /** The change's state when the reviewer resolved it. If the change has another state, it must be reviewed again. */
  of: string;
}

/** Resolutions by the file's memory ID. */
export type Resolutions = ReadonlyMap<string, Resolution>;

interface Review {
  tenant: string;
  draft: string;
  /** Resolutions with their keys, in a form that JSON can represent. */
  resolutions: [string, Resolution][];
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

export const forgetResolutions = () => setReview(null);

export function storedResolutions(tenant: string, draft: string): Resolutions {
  const { value } = review;
  return new Map(value?.tenant === tenant && value.draft === draft ? value.resolutions : []);
}

/** @param resolution null for the automatic merge */
export function resolve(tenant: string, draft: string, id: string, resolution: Resolution | null): void {
  const resolutions = new Map(storedResolutions(tenant, draft));
  if (resolution === null) resolutions.delete(id);
  else resolutions.set(id, resolution);
  setReview(resolutions.size === 0 ? null : { tenant, draft, resolutions: [...resolutions] });
}

/** Returns a comparable representation of a change. */
export const changeFingerprint = (change: DraftChange) => JSON.stringify(change);

export type Progress = 'merges' | 'open' | 'resolved' | 'marked' | 'stale';

/**
 * Review progress for a file.
 * - `merges`: merges automatically.
 * - `open`: has an unresolved conflict.
 * - `marked`: its text still contains conflict markers.
 * - `stale`: changed after it was resolved.
 */
export function reviewProgress(change: DraftChange, resolution: Resolution | undefined): Progress {
  if (resolution === undefined) return change.conflict === null ? 'merges' : 'open';
  if (resolution.of !== changeFingerprint(change)) return 'stale';
  return resolution.choice === 'text' && hasMarks(resolution.text ?? '') ? 'marked' : 'resolved';
}

/** Returns the text that a resolution gives to the file, if the resolution has one. */
export const resolvedText = ({ choice, text }: Resolution): string | null =>
  choice === 'text' ? (text ?? '') : null;

/** Returns the changes that prevent a merge. */
export const unresolvedChanges = (changes: readonly DraftChange[], resolutions: Resolutions) =>
  changes.filter((change) =>
    ['open', 'marked', 'stale'].includes(reviewProgress(change, resolutions.get(change.memory_id))),
  );

/** Returns the resolutions to send with a merge, except for files that no longer differ in the draft. */
export function toResolutionInputs(
  changes: readonly DraftChange[],
  resolutions: Resolutions,
): ResolutionInput[] {
  return changes.flatMap(({ memory_id, in_draft }): ResolutionInput[] => {
    const resolution = resolutions.get(memory_id);
    if (resolution === undefined || in_draft === null) return [];
    const { choice } = resolution;
    if (choice === 'draft' || choice === 'original') return [{ memory_id, take: choice }];
    return [{ memory_id, text: resolvedText(resolution) ?? '' }];
  });
}
