import type { DraftDiff, Region } from '../../api/drafts-api.ts';

/* A text that the user makes from two sides, with Git's conflict markers. */

const START_MARK = '<<<<<<<';
const MIDDLE_MARK = '=======';
const END_MARK = '>>>>>>>';

/** Names for the two sides in the marks. */
type Names = readonly [draft: string, original: string];
const REVIEWED: Names = ['draft', 'original'];
/** Names for the sides of an edit in the console. */
export const EDITED: Names = ['yours', 'theirs'];

const MARKS = new RegExp(
  `^(${START_MARK} (${REVIEWED[0]}|${EDITED[0]})|${END_MARK} (${REVIEWED[1]}|${EDITED[1]}))\\r?$`,
  'm',
);

/** Whether a text still contains conflict markers. */
export const hasMarks = (text: string) =>
  // Searching for a fixed text takes less than a tenth of the time that `MARKS` takes. The search runs on each key
  // press, in a text that may be long.
  (text.includes(START_MARK) || text.includes(END_MARK)) && MARKS.test(text);

/**
 * Returns both sides as one text, with conflict markers around conflicting lines. If only one side has a text, returns
 * that text.
 */
export function startingText({ regions, texts }: Pick<DraftDiff, 'regions' | 'texts'>): string {
  if (regions !== null) return markedText(regions);
  const { draft, original } = texts;
  if (draft === null || original === null || draft === original) return draft ?? original ?? '';
  return draft === texts.base ? original : draft;
}

/** Joins the parts of a file, with marks around the parts that conflict. */
export function markedText(regions: readonly Region[], [draft, original] = REVIEWED): string {
  const regionText = (region: Region) =>
    region.kind === 'merged'
      ? region.text
      : [
          `${START_MARK} ${draft}\n`,
          endWithNewline(region.draft),
          `${MIDDLE_MARK}\n`,
          endWithNewline(region.original),
          `${END_MARK} ${original}\n`,
        ].join('');
  return regions.map(regionText).join('');
}

const endWithNewline = (text: string) => (text === '' || text.endsWith('\n') ? text : `${text}\n`);

/** Returns a file's merged text. Returns null if there is a conflict, or if only one side changed the content. */
export function mergedText(regions: readonly Region[] | null): string | null {
  if (regions === null || regions.some(({ kind }) => kind === 'conflict')) return null;
  return regions.map((region) => (region.kind === 'merged' ? region.text : '')).join('');
}
