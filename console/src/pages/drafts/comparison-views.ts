import { mergedText } from '../../../../src/core/history/merge-lines.ts';
import type { DraftDiff } from '../../api/drafts-api.ts';
import { compareTexts, type ShownDiff, shownDiff } from '../history/diff-lines.ts';

/**
 * The two texts in a diff.
 * - `sides`: the original and the draft.
 * - `result`: the original and the merged file.
 * - `chosen`: the original and the resolution's text.
 * - `draft` and `original`: the base and that side.
 */
export type View = 'sides' | 'result' | 'chosen' | 'draft' | 'original';

type Named = readonly [View, string];

const DRAFT: Named = ['draft', 'In the draft'];
const ORIGINAL: Named = ['original', 'In the original'];

/**
 * Returns the useful views for a file's differences, the most informative first.
 *
 * @param hasText whether the file's resolution has a text
 */
export function availableViews(diff: DraftDiff, hasText: boolean): Named[] {
  const views = changeViews(diff);
  return hasText ? [['chosen', 'Result'], ...views] : views;
}

function changeViews({ change, texts, regions }: DraftDiff): Named[] {
  if (change.changed_in === 'draft') return change.conflict === null ? [DRAFT] : addSidesView([DRAFT], texts);
  if (change.changed_in === 'original') return [ORIGINAL];
  if (regions !== null && mergedText(regions) !== null)
    return [['result', 'Changes of the merge'], DRAFT, ORIGINAL];
  return addSidesView([DRAFT, ORIGINAL], texts);
}

function addSidesView(views: Named[], { draft, original }: DraftDiff['texts']): Named[] {
  return draft === null || original === null || draft === original
    ? views
    : [['sides', 'Original and draft'], ...views];
}

/** @param chosen the resolution's text */
export function viewContent(
  diff: DraftDiff,
  view: View,
  chosen: string | null,
): { files: ShownDiff[]; summary: string } {
  const { draft, original } = diff.texts;
  switch (view) {
    case 'sides':
      return compareSides(original, draft, 'Red: only in the original. Green: only in the draft.');
    case 'result':
      return compareSides(
        original,
        mergedText(diff.regions ?? []),
        'Red: the original. Green: the merged file.',
      );
    case 'chosen':
      return compareSides(original, chosen, 'Red: the original. Green: your resolution.');
    case 'draft':
      return { files: [shownDiff(diff.draft)], summary: 'Since the base, in the draft' };
    case 'original':
      return {
        files: [shownDiff(diff.original)],
        summary: 'Since the base, in the original',
      };
  }
}

function compareSides(old: string | null, now: string | null, summary: string) {
  const lines = compareTexts(old ?? '', now ?? '');
  return {
    files: [{ title: null, lines, note: lines.length === 0 ? 'The content is the same.' : null }],
    summary,
  };
}
