import type { DraftDiff, Region } from '../../api/drafts.ts';

/* The reviewer's own text for a file, with the conflict markers of Git. */

const DRAFT_MARK = '<<<<<<< draft';
const MIDDLE_MARK = '=======';
const ORIGINAL_MARK = '>>>>>>> original';

const MARKS = new RegExp(`^(${DRAFT_MARK}|${ORIGINAL_MARK})\\r?$`, 'm');

/** Whether a text still contains conflict markers. */
export const hasMarks = (text: string) => MARKS.test(text);

/**
 * Returns both sides as one text, with conflict markers around conflicting lines. If only one side has a text, returns
 * that text.
 */
export function startingText({ regions, texts }: Pick<DraftDiff, 'regions' | 'texts'>): string {
  if (regions !== null) return regions.map(textOf).join('');
  const { draft, original } = texts;
  if (draft === null || original === null || draft === original) return draft ?? original ?? '';
  return draft === texts.base ? original : draft;
}

function textOf(region: Region): string {
  if (region.kind === 'merged') return region.text;
  const lines = [
    DRAFT_MARK,
    '\n',
    ended(region.draft),
    MIDDLE_MARK,
    '\n',
    ended(region.original),
    ORIGINAL_MARK,
  ];
  return `${lines.join('')}\n`;
}

const ended = (text: string) => (text === '' || text.endsWith('\n') ? text : `${text}\n`);

/** Returns the merged text of a file. Returns null if there is a conflict, or if only one side changed the content. */
export function mergedText(regions: readonly Region[] | null): string | null {
  if (regions === null || regions.some(({ kind }) => kind === 'conflict')) return null;
  return regions.map((region) => (region.kind === 'merged' ? region.text : '')).join('');
}
