import { expect, it } from 'vitest';
import type { DraftDiff, Region } from '../../api/drafts-api.ts';
import { choosableParts, mergeSides, withSides } from './regions.ts';

const text = (regions: Region[]) =>
  regions.map((region) => (region.kind === 'merged' ? region.text : '?')).join('');

it('merges edits to different lines, and reports a conflict for edits to the same or adjacent lines', () => {
  const base = 'a\nb\nc\nd\ne\n';
  expect(mergeSides({ base, draft: 'A\nb\nc\nd\ne\n', original: 'a\nb\nc\nd\nE' })).toStrictEqual([
    { kind: 'merged', text: 'A\nb\nc\nd\nE' },
  ]);
  expect(mergeSides({ base, draft: 'a\nB\nc\nd\n', original: 'a\nb\nC\nd\ne\n' })).toStrictEqual([
    { kind: 'merged', text: 'a\n' },
    { kind: 'conflict', base: 'b\nc\n', draft: 'B\nc\n', original: 'b\nC\n' },
    { kind: 'merged', text: 'd\n' },
  ]);
  // Identical edits do not conflict, and a side that is unchanged has no effect.
  expect(mergeSides({ base, draft: 'x\n', original: 'x\n' })).toStrictEqual([
    { kind: 'merged', text: 'x\n' },
  ]);
  expect(text(mergeSides({ base, draft: base, original: '' }))).toBe('');
  expect(mergeSides({ base: '', draft: 'x', original: 'y' })).toStrictEqual([
    { kind: 'conflict', base: '', draft: 'x', original: 'y' },
  ]);
});

const createDiff = (texts: DraftDiff['texts'], regions: Region[] | null = null) =>
  ({ change: { in_draft: 'changed' }, texts, regions }) as DraftDiff;

it('builds a text from the side that is chosen for each part', () => {
  const original = 'a\nb\nc\nd\ne\n';
  const parts = choosableParts(createDiff({ base: original, draft: 'A\nb\nc\nd\ne\nf', original }));
  expect(parts).toStrictEqual([
    { kind: 'conflict', base: 'a\n', draft: 'A\n', original: 'a\n' },
    { kind: 'merged', text: 'b\nc\nd\ne\n' },
    { kind: 'conflict', base: '', draft: 'f', original: '' },
  ]);
  expect(text(withSides(parts ?? [], ['draft', 'original']))).toBe('A\nb\nc\nd\ne\n');
  expect(text(withSides(parts ?? [], ['both', null]))).toBe('A\na\nb\nc\nd\ne\n?');

  const regions: Region[] = [
    { kind: 'merged', text: 'same\n' },
    { kind: 'conflict', base: 'x', draft: 'y', original: 'z' },
  ];
  expect(
    choosableParts(createDiff({ base: 'same\nx', draft: 'same\ny', original: 'same\nz' }, regions)),
  ).toBe(regions);
  expect(text(withSides(regions, ['both']))).toBe('same\ny\nz');
});

it('offers no choice by part if the file was deleted or has only one part', () => {
  expect(choosableParts(createDiff({ base: 'a\n', draft: null, original: 'b\n' }))).toBeNull();
  expect(choosableParts(createDiff({ base: 'a\n', draft: 'b\n', original: 'a\n' }))).toBeNull();
  expect(choosableParts(createDiff({ base: 'a\n', draft: 'a\n', original: 'a\n' }))).toBeNull();
});
