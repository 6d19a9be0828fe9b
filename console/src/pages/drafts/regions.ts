import { diffArrays } from 'diff';
import {
  mergedText,
  mergeLines,
  type Region,
  splitIntoLines,
  type ThreeTexts,
} from '../../../../src/core/history/merge-lines.ts';
import type { DraftDiff } from '../../api/drafts-api.ts';
import { markConflict, REVIEWED } from '../../text/conflict-marks.ts';

/* Texts from two sides, in parts. */

/** Maximum number of added and removed lines. The time for a comparison grows with the square of this number. */
const MAX_EDITS = 2000;
/** Maximum number of changes between marks. A file with more changes starts with the merged text. */
const MAX_PARTS = 100;
/** Maximum pairs with identical lines. The time for a merge grows with this number. */
const MAX_PAIRS = 5_000_000;

/** Merges two edits to a text line by line. Texts that take too long to merge conflict as a whole. */
export function mergeSides(texts: ThreeTexts): Region[] {
  const pairs = countPairs(texts.base, texts.draft) + countPairs(texts.base, texts.original);
  return pairs > MAX_PAIRS ? [{ kind: 'conflict', ...texts }] : mergeLines(texts);
}

/** Counts pairs with identical lines in two texts. */
function countPairs(one: string, other: string): number {
  const lines = Map.groupBy(splitIntoLines(one), (line) => line);
  return splitIntoLines(other).reduce((sum, line) => sum + (lines.get(line)?.length ?? 0), 0);
}

/**
 * Returns the reviewer's first text: both sides, with marks around each part that differs. Only the parts that conflict
 * have marks if the file conflicts. If only one side has a text, returns that text.
 */
export function startingText({ regions, texts }: Pick<DraftDiff, 'regions' | 'texts'>): string {
  const { draft, original } = texts;
  if (draft === null || original === null || draft === original) return draft ?? original ?? '';
  const merged = regions === null ? (draft === texts.base ? original : draft) : mergedText(regions);
  if (merged === null) return markedText(regions ?? []);
  const parts = findChanges(original, merged);
  return parts === null ? merged : markedText(parts);
}

/** Joins the parts of a file, with marks around the parts that conflict. */
export const markedText = (regions: readonly Region[], names = REVIEWED) =>
  regions
    .map((region) =>
      region.kind === 'merged' ? region.text : markConflict(region.draft, region.original, names),
    )
    .join('');

/** Returns the differences between two texts as parts, or null if there are too many. */
function findChanges(original: string, draft: string): Region[] | null {
  const parts = diffArrays(splitIntoLines(original), splitIntoLines(draft), { maxEditLength: MAX_EDITS });
  if (parts === undefined) return null;
  const regions: Region[] = [];
  for (const { value, added, removed } of parts) {
    const text = value.join('');
    const last = regions.at(-1);
    if (!added && !removed) regions.push({ kind: 'merged', text });
    else if (last?.kind === 'conflict') last[added ? 'draft' : 'original'] += text;
    else
      regions.push({ kind: 'conflict', base: '', draft: added ? text : '', original: removed ? text : '' });
  }
  return regions.filter(({ kind }) => kind === 'conflict').length > MAX_PARTS ? null : regions;
}
