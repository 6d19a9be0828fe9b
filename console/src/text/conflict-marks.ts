/* Conflicts in a text, between markers as in Git. */

const START_MARK = '<<<<<<<';
const MIDDLE_MARK = '=======';
const END_MARK = '>>>>>>>';

/** Names for the two sides in the marks. */
export type SideNames = readonly [draft: string, original: string];
export const REVIEWED: SideNames = ['draft', 'original'];
/** Names for the sides of an edit in the console. */
export const EDITED: SideNames = ['yours', 'theirs'];

const START = `${START_MARK} (${REVIEWED[0]}|${EDITED[0]})`;
const END = `${END_MARK} (${REVIEWED[1]}|${EDITED[1]})`;
const MARKS = new RegExp(`^(${START}|${END})\\r?$`, 'm');
const CONFLICT = new RegExp(`^${START}\\n([^]*?)^${MIDDLE_MARK}\\n([^]*?)^${END}(?:\\n|$)`, 'gm');

/** Whether a text still contains conflict markers. */
export const hasMarks = (text: string) =>
  // Searching for a fixed text takes less than a tenth of the time that `MARKS` takes. The search runs on each key
  // press, in a text that may be long.
  (text.includes(START_MARK) || text.includes(END_MARK)) && MARKS.test(text);

/** Puts marks around two texts. */
export const markConflict = (first: string, second: string, [start, end]: SideNames) =>
  `${START_MARK} ${start}\n${endWithNewline(first)}${MIDDLE_MARK}\n${endWithNewline(second)}${END_MARK} ${end}\n`;

const endWithNewline = (text: string) => (text === '' || text.endsWith('\n') ? text : `${text}\n`);

/** Returns the texts that can replace the conflict at a text's start, by name. Returns null if there is no conflict. */
export function readConflict(text: string): { length: number; sides: Record<string, string> } | null {
  CONFLICT.lastIndex = 0;
  const match = CONFLICT.exec(text);
  if (match?.index !== 0) return null;
  const [{ length }, first = '', before = '', after = '', second = ''] = match;
  return { length, sides: { [first]: before, [second]: after, both: before + after } };
}

/** Replaces all conflicts in a text with the side of the given name. */
export const takeSide = (text: string, side: string) =>
  text.replace(CONFLICT, (conflict) => readConflict(conflict)?.sides[side] ?? conflict);
