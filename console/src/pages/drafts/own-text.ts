import type { DraftDiff, Region } from '../../api/drafts.ts';

/* The text with which a reviewer settles a file. What conflicts in it is marked as Git does. */

const DRAFT_MARK = '<<<<<<< draft';
const MIDDLE_MARK = '=======';
const ORIGINAL_MARK = '>>>>>>> original';

const MARKS = new RegExp(`^(${DRAFT_MARK}|${ORIGINAL_MARK})\\r?$`, 'm');

/** Whether a text still has marks of conflicts. */
export const hasMarks = (text: string) => MARKS.test(text);

/** Both sides in one text, with marks around what conflicts; of a side that is alone, its text. */
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

/** What the merge makes of a file when nothing conflicts; null when something does, or only one side changed it. */
export function mergedText(regions: readonly Region[] | null): string | null {
  if (regions === null || regions.some(({ kind }) => kind === 'conflict')) return null;
  return regions.map((region) => (region.kind === 'merged' ? region.text : '')).join('');
}
