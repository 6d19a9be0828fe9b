import { diffArrays } from 'diff';

/** The next older version of a content: `text` replaces `length` bytes after the first `start` bytes. */
export interface Step {
  start: number;
  /** Null if `text` is the complete older content. */
  length: number | null;
  text: string;
}

/** A file's content with its older versions, newest first. */
export interface TextHistory {
  content: string;
  steps: readonly Step[];
  /** Whether the oldest version wrote all its lines. */
  isComplete: boolean;
}

/** Maximum number of added and removed lines. A change with more counts as a change to all lines between the ends. */
const MAX_EDITS = 100;
/** Maximum work, in characters. Unlike a time limit, it makes results reproducible. */
const MAX_WORK = 64 * 1024 * 1024;
/** Work for each line, in addition to its characters. */
const FIXED_WORK = 32;

/** Result of `attributeLines`. */
export interface Attribution {
  /**
   * Each line's version, for each history: 0 for the content, 1 for the first step. `~version` is that version or an
   * earlier one, if no step shows which, or the work exceeded its limit.
   */
  writers: Int32Array[];
  /** Whether the work was within its limit. */
  isWithinLimit: boolean;
}

/** Finds the version that wrote each line. @param maxWork in characters that are read and compared */
export function attributeLines(histories: readonly TextHistory[], maxWork = MAX_WORK): Attribution {
  const budget = new WorkBudget(maxWork);
  const writers = histories.map((history) => attribute(history, budget));
  return { writers, isWithinLimit: budget.left >= 0 };
}

function attribute({ content, steps, isComplete }: TextHistory, budget: WorkBudget): Int32Array {
  let bytes: Buffer = Buffer.from(content);
  let lines = content.split('\n');
  const writers = new Int32Array(lines.length);
  /** Each line's index in `content`; undefined if a newer version wrote the line. */
  let places: (number | undefined)[] = lines.map((_, i) => i);
  const setWriter = (writer: number) => {
    for (const place of places) if (place !== undefined) writers[place] = writer;
  };
  for (const [version, step] of steps.entries()) {
    const older = applyStep(bytes, step);
    const olderLines = older.toString().split('\n');
    const kept = findKeptLines(olderLines, lines, budget);
    if (kept === undefined) {
      setWriter(~version);
      return writers;
    }
    const olderPlaces = new Array<number | undefined>(olderLines.length).fill(undefined);
    for (const [from, to, count] of kept) {
      for (let i = 0; i < count; i++) {
        olderPlaces[from + i] = places[to + i];
        places[to + i] = undefined;
      }
    }
    setWriter(version);
    [bytes, lines, places] = [older, olderLines, olderPlaces];
  }
  setWriter(isComplete ? steps.length : ~steps.length);
  return writers;
}

function applyStep(bytes: Buffer, { start, length, text }: Step): Buffer {
  const replacement = Buffer.from(text);
  if (length === null) return replacement;
  return Buffer.concat([bytes.subarray(0, start), replacement, bytes.subarray(start + length)]);
}

/** Lines that two versions share: their first index in the older and in the newer version, and their number. */
type Kept = [older: number, newer: number, count: number];

/** Returns the lines that a change kept; undefined if the budget is exhausted. */
function findKeptLines(older: string[], newer: string[], budget: WorkBudget): Kept[] | undefined {
  const most = Math.min(older.length, newer.length);
  let start = 0;
  while (start < most && older[start] === newer[start]) start++;
  let end = 0;
  while (end < most - start && older.at(-1 - end) === newer.at(-1 - end)) end++;
  const kept: Kept[] = [
    [0, 0, start],
    [older.length - end, newer.length - end, end],
  ];
  try {
    for (const line of newer) budget.spend(line.length);
    let [from, to] = [start, start];
    const middle = (lines: string[]) => lines.slice(start, lines.length - end);
    for (const { count, added, removed } of diffLines(middle(older), middle(newer), budget)) {
      if (!added && !removed) kept.push([from, to, count]);
      if (!added) from += count;
      if (!removed) to += count;
    }
    return kept;
  } catch (error) {
    if (error instanceof TooMuchWork) return undefined;
    throw error;
  }
}

/** @throws TooMuchWork when the budget is exhausted */
function diffLines(older: string[], newer: string[], budget: WorkBudget) {
  const comparator = (one: string, other: string) => {
    budget.spend(one.length);
    return one === other;
  };
  return diffArrays(older, newer, { maxEditLength: MAX_EDITS, comparator }) ?? [];
}

class TooMuchWork extends Error {}

class WorkBudget {
  left: number;

  constructor(characters: number) {
    this.left = characters;
  }

  /** @throws TooMuchWork when the budget is exhausted */
  spend(characters: number): void {
    this.left -= FIXED_WORK + characters;
    if (this.left < 0) throw new TooMuchWork();
  }
}

/** The worker thread's entry point. */
export default function work(histories: readonly TextHistory[]): Int32Array[] {
  return attributeLines(histories).writers;
}
