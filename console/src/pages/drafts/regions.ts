import { diffArrays } from 'diff';
import type { DraftDiff, Region } from '../../api/drafts-api.ts';

/* Texts from two sides, in parts that one can choose separately. */

/** Maximum number of added and removed lines. The time for a comparison grows with the square of this number. */
const MAX_EDITS = 2000;
/** Maximum number of parts with a choice. A file with more parts is resolved as a whole, or with a text. */
const MAX_PARTS = 100;

/** The side that a part takes. `both`: the draft's lines, then the original's. */
export type Side = 'draft' | 'original' | 'both';

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
 * Returns a file in parts, each of which takes one side: the conflicts between both sides, or the changes in a merge
 * without conflicts. Returns null if a choice by part is not possible.
 */
export function choosableParts({ change, texts, regions }: DraftDiff): Region[] | null {
  const { draft, original } = texts;
  if (draft === null || original === null || change.in_draft === null) return null;
  const isConflict = regions?.some(({ kind }) => kind === 'conflict') ?? false;
  const merged = regions === null ? draft : regions.map((region) => sideText(region, 'draft')).join('');
  const parts = isConflict && regions !== null ? regions : findChanges(original, merged);
  const count = parts.filter(({ kind }) => kind === 'conflict').length;
  return count > 0 && count <= MAX_PARTS && (count > 1 || parts.length > 1) ? parts : null;
}

/** Returns the differences between two texts as parts. */
function findChanges(original: string, draft: string): Region[] {
  const base = splitLines(original);
  const edits = findEdits(base, splitLines(draft));
  if (edits === null) return [];
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

function sideText(region: Region, side: Side): string {
  if (region.kind === 'merged') return region.text;
  const { draft, original } = region;
  if (side !== 'both') return region[side];
  return draft === '' || draft.endsWith('\n') || original === '' ? draft + original : `${draft}\n${original}`;
}

/** Replaces each part that has a choice with the chosen text. */
export function withSides(regions: readonly Region[], sides: readonly (Side | null)[]): Region[] {
  let index = 0;
  return regions.map((region): Region => {
    if (region.kind === 'merged') return region;
    const side = sides[index++] ?? null;
    return side === null ? region : { kind: 'merged', text: sideText(region, side) };
  });
}
