import { expect, it } from 'vitest';
import type { Region } from '../../../../src/core/history/merge-lines.ts';
import type { DraftDiff } from '../../api/drafts-api.ts';
import { readConflict, takeSide } from '../../text/conflict-marks.ts';
import { mergeSides, startingText } from './regions.ts';

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

it('starts a text with marks around each change, or around the conflicts only', () => {
  const original = 'a\nb\nc\nd\ne\n';
  const texts = (draft: string | null, base = original) => ({ base, draft, original });
  const start = (draft: string | null, regions: DraftDiff['regions'] = null, base?: string) =>
    startingText({ texts: texts(draft, base), regions });
  const marked = start('A\nb\nc\nd\ne\nf');
  expect(marked).toBe(
    '<<<<<<< draft\nA\n=======\na\n>>>>>>> original\nb\nc\nd\ne\n<<<<<<< draft\nf\n=======\n>>>>>>> original\n',
  );
  expect(takeSide(marked, 'original')).toBe(original);
  expect(takeSide(marked, 'draft')).toBe('A\nb\nc\nd\ne\nf\n');
  expect(takeSide(marked, 'both')).toBe('A\na\nb\nc\nd\ne\nf\n');
  expect(readConflict(marked)?.sides).toStrictEqual({ draft: 'A\n', original: 'a\n', both: 'A\na\n' });
  expect(readConflict(`x\n${marked}`)).toBeNull();
  const merged: Region = { kind: 'merged', text: 'b\n' };
  const conflict: Region = { kind: 'conflict', base: 'c\n', draft: 'C\n', original: 'c c\n' };
  expect(start('b\nC\n', [merged, conflict])).toBe('b\n<<<<<<< draft\nC\n=======\nc c\n>>>>>>> original\n');
  // A draft that only moved the file has no change to the text, and neither has a deleted file.
  expect(start('a\n', null, 'a\n')).toBe(original);
  expect(start(null)).toBe(original);
});
