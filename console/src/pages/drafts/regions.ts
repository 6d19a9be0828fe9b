import { diffArrays } from 'diff';
import type { DraftDiff, Region } from '../../api/drafts-api.ts';
import { markConflict, REVIEWED } from '../../text/conflict-marks.ts';

/* Texts from two sides, in parts. */

/** Maximum number of added and removed lines. The time for a comparison grows with the square of this number. */
const MAX_EDITS = 2000;
/** Maximum number of changes between marks. A file with more changes starts with the merged text. */
const MAX_PARTS = 100;

/** A replacement for the lines from `start` to before `end`. */
interface Edit {
  start: number;
  end: number;
  lines: string[];
}

/**
 * Merges two edits to a text line by line. Edits to the same or to adjacent lines conflict, unless they are identical.
 *
 * @param texts the `draft` and the `original` are the two sides
 */
export function mergeSides(texts: { base: string; draft: string; original: string }): Region[] {
  const base = splitLines(texts.base);
  const draft = findEdits(base, splitLines(texts.draft));
  const original = findEdits(base, splitLines(texts.original));
  if (draft === null || original === null) return [{ kind: 'conflict', ...texts }];
  const regions: Region[] = [];
  let at = 0;
  while (draft.length + original.length > 0) {
    const { start, end, ours, theirs } = takeGroup(draft, original);
    addMerged(regions, base.slice(at, start).join(''));
    at = end;
    const before = base.slice(start, end).join('');
    const [mine, other] = [ours, theirs].map((edits) => applyEdits(base, start, end, edits)) as [
      string,
      string,
    ];
    if (theirs.length === 0 || mine === other) addMerged(regions, mine);
    else if (ours.length === 0) addMerged(regions, other);
    else regions.push({ kind: 'conflict', base: before, draft: mine, original: other });
  }
  addMerged(regions, base.slice(at).join(''));
  return regions;
}

/** Removes the next edits that touch each other from both lists. */
function takeGroup(draft: Edit[], original: Edit[]) {
  const start = Math.min(
    draft[0]?.start ?? Number.POSITIVE_INFINITY,
    original[0]?.start ?? Number.POSITIVE_INFINITY,
  );
  let end = start;
  const [ours, theirs]: [Edit[], Edit[]] = [[], []];
  for (let isGrowing = true; isGrowing; ) {
    isGrowing = false;
    for (const [from, to] of [
      [draft, ours],
      [original, theirs],
    ] as const) {
      const [edit] = from;
      if (edit === undefined || edit.start > end) continue;
      from.shift();
      to.push(edit);
      end = Math.max(end, edit.end);
      isGrowing = true;
    }
  }
  return { start, end, ours, theirs };
}

function applyEdits(base: readonly string[], start: number, end: number, edits: readonly Edit[]): string {
  const lines: string[] = [];
  let at = start;
  for (const edit of edits) {
    lines.push(...base.slice(at, edit.start), ...edit.lines);
    at = edit.end;
  }
  return [...lines, ...base.slice(at, end)].join('');
}

function addMerged(regions: Region[], text: string): void {
  const last = regions.at(-1);
  if (text === '') return;
  if (last?.kind === 'merged') last.text += text;
  else regions.push({ kind: 'merged', text });
}

/** Returns null if the texts differ in too many lines. */
function findEdits(base: string[], side: string[]): Edit[] | null {
  const parts = diffArrays(base, side, { maxEditLength: MAX_EDITS });
  if (parts === undefined) return null;
  const edits: Edit[] = [];
  let at = 0;
  for (const { value, added, removed } of parts) {
    const last = edits.at(-1);
    const edit = last?.end === at && (added || removed) ? last : { start: at, end: at, lines: [] };
    if (added) edit.lines.push(...value);
    else at += value.length;
    if (removed) edit.end = at;
    if ((added || removed) && edit !== last) edits.push(edit);
  }
  return edits;
}

/** Splits a text into lines with their line endings. */
const splitLines = (text: string) => text.match(/[^\n]*\n|[^\n]+$/g) ?? [];

/**
 * Returns the reviewer's first text: both sides, with marks around each part that differs. Only the parts that conflict
 * have marks if the file conflicts. If only one side has a text, returns that text.
 */
export function startingText({ regions, texts }: Pick<DraftDiff, 'regions' | 'texts'>): string {
  const { draft, original } = texts;
  if (draft === null || original === null || draft === original) return draft ?? original ?? '';
  if (regions !== null && mergedText(regions) === null) return markedText(regions);
  const merged = mergedText(regions) ?? (draft === texts.base ? original : draft);
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

/** Returns a file's merged text. Returns null if there is a conflict, or if only one side changed the content. */
export function mergedText(regions: readonly Region[] | null): string | null {
  if (regions === null || regions.some(({ kind }) => kind === 'conflict')) return null;
  return regions.map((region) => (region.kind === 'merged' ? region.text : '')).join('');
}

/** Returns the differences between two texts as parts, or null if there are too many. */
function findChanges(original: string, draft: string): Region[] | null {
  const base = splitLines(original);
  const edits = findEdits(base, splitLines(draft));
  if (edits === null || edits.length > MAX_PARTS) return null;
  const regions: Region[] = [];
  let at = 0;
  for (const { start, end, lines } of edits) {
    addMerged(regions, base.slice(at, start).join(''));
    const before = base.slice(start, end).join('');
    regions.push({ kind: 'conflict', base: before, draft: lines.join(''), original: before });
    at = end;
  }
  addMerged(regions, base.slice(at).join(''));
  return regions;
}
