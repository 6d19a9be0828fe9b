import { describe, expect, it } from 'vitest';
import type { MergedTexts } from '../../../core/history/merge-file.ts';
import type { MemoryPath } from '../../../core/memory/path.ts';
import { findCaseVariants } from './case-variants.ts';
import { localChanges, memoryChanges } from './changes.ts';
import { addConflictLabel, conflictLabel, toDeviceName } from './conflict-path.ts';
import { filesToMerge, pairFiles, planFiles } from './plan.ts';

type Contents = Record<string, string>;
const at = (name: string) => `/memories/${name}` as MemoryPath;

/**
 * Plans a synchronization of files with one-word contents, and returns the changes as lines.
 *
 * @param remote contents by path, or by `ID path` for files whose ID differs from their path
 */
function plan(base: Contents, local: Contents, remote: Contents, texts: MergedTexts = new Map()): string[] {
  const entries = (contents: Contents) =>
    Object.entries(contents).map(([name, sha256]) => ({ name, sha256 }));
  const pairs = pairFiles(
    entries(base).map(({ name, sha256 }) => ({ path: at(name), memoryId: name, sha256 })),
    entries(local).map(({ name, sha256 }) => ({ path: at(name), sha256, modifiedAt: new Date(0) })),
    entries(remote).map(({ name, sha256 }) => {
      const [memoryId = '', path = memoryId] = name.split(' ');
      return { path: at(path), memoryId, sha256 };
    }),
  );
  return planFiles(pairs, texts, () => 'laptop')
    .flatMap((file) => [...memoryChanges(file), ...localChanges(file)])
    .map(({ side, action, path, to }) => [side, action, path, ...(to ? [to] : [])].join(' '))
    .map((line) => line.replaceAll('/memories/', ''));
}

describe('planFiles', () => {
  it.each<[string, Contents, Contents, Contents, string[]]>([
    ['nothing', { a: '1' }, { a: '1' }, { a: '1' }, []],
    ['the same change on both sides', { a: '1' }, { a: '2' }, { a: '2' }, []],
    ['a local file', {}, { a: '1' }, {}, ['memory create a']],
    ['a file in the memory', {}, {}, { a: '1' }, ['local create a']],
    ['a local change', { a: '1' }, { a: '2' }, { a: '1' }, ['memory update a']],
    ['a change in the memory', { a: '1' }, { a: '1' }, { a: '2' }, ['local update a']],
    ['a local deletion', { a: '1' }, {}, { a: '1' }, ['memory delete a']],
    ['a deletion in the memory', { a: '1' }, { a: '1' }, {}, ['local delete a']],
    ['a deletion on both sides', { a: '1' }, {}, {}, []],
    ['a local rename', { a: '1' }, { b: '1' }, { a: '1' }, ['memory rename a b']],
    ['a rename in the memory', { a: '1' }, { a: '1' }, { 'a b': '1' }, ['local rename a b']],
    [
      'a rename with a change in the memory',
      { a: '1' },
      { a: '1' },
      { 'a b': '2' },
      ['local rename a b', 'local update b'],
    ],
    [
      'a local rename and a change in the memory',
      { a: '1' },
      { b: '1' },
      { a: '2' },
      ['memory rename a b', 'local update b'],
    ],
    [
      'a local change and a rename in the memory',
      { a: '1' },
      { a: '2' },
      { 'a b': '1' },
      ['memory update b', 'local rename a b'],
    ],
    ['different renames', { a: '1' }, { b: '1' }, { 'a c': '1' }, ['local rename b c']],
    ['a local deletion of a changed file', { a: '1' }, {}, { a: '2' }, ['local create a']],
    ['a local change to a deleted file', { a: '1' }, { a: '2' }, {}, ['memory create a']],
    [
      'a file that was deleted and created in the memory',
      { a: '1' },
      { a: '1' },
      { 'x a': '2' },
      ['local update a'],
    ],
    [
      'exchanged names in the memory',
      { a: '1', b: '2' },
      { a: '1', b: '2' },
      { 'a b': '1', 'b a': '2' },
      ['local rename a b', 'local rename b a'],
    ],
    [
      'different new files',
      {},
      { 'a.md': '1' },
      { 'a.md': '2' },
      [
        'local update a.md',
        'memory create a (conflict laptop).md',
        'conflict copy a.md a (conflict laptop).md',
      ],
    ],
    [
      'a local file at the new path of a renamed file',
      { a: '1' },
      { a: '1', b: '2' },
      { 'a b': '1' },
      ['local rename a b', 'memory create b (conflict laptop)', 'conflict copy b b (conflict laptop)'],
    ],
    [
      'the renamed file at its new path already',
      { a: '1' },
      { a: '1', b: '1' },
      { 'a b': '1' },
      ['local rename a b'],
    ],
    [
      'a local file in the place of a directory',
      {},
      { a: '1' },
      { 'a/b': '2' },
      ['local create a/b', 'memory create a (conflict laptop)', 'conflict copy a a (conflict laptop)'],
    ],
    [
      'a local directory in the place of a file',
      {},
      { 'a/b': '1' },
      { a: '2' },
      ['local create a', 'memory create a (conflict laptop)/b', 'conflict copy a/b a (conflict laptop)/b'],
    ],
    [
      'a conflict whose copy exists',
      { a: '0' },
      { a: '1', 'a (conflict laptop)': '1' },
      { a: '2' },
      ['local update a', 'memory create a (conflict laptop)'],
    ],
    [
      'a conflict at an occupied name',
      { a: '0' },
      { a: '1', 'a (conflict laptop)': '3' },
      { a: '2' },
      [
        'local update a',
        'memory create a (conflict laptop)',
        'memory create a (conflict laptop 2)',
        'conflict copy a a (conflict laptop 2)',
      ],
    ],
  ])('plans %s', (_, base, local, remote, expected) => {
    expect(plan(base, local, remote)).toStrictEqual(expected);
  });

  it('merges changes to different lines', () => {
    const [base, local, remote] = [{ a: '0' }, { a: '1' }, { a: '2' }];
    expect(plan(base, local, remote, new Map([['a', 'merged']]))).toStrictEqual([
      'memory merge a',
      'local merge a',
    ]);
    const sides = { path: at('a'), memoryId: 'a', modifiedAt: new Date(0) };
    const pairs = pairFiles(
      [{ ...sides, sha256: '0' }],
      [{ ...sides, sha256: '1' }],
      [{ ...sides, sha256: '2' }],
    );
    expect(filesToMerge(pairs).map(({ id }) => id)).toStrictEqual(['a']);
  });

  it('leaves out a file that differs only in masked secrets', () => {
    const sides = { path: at('a'), memoryId: 'a', modifiedAt: new Date(0) };
    const base = [{ ...sides, sha256: 'masked', maskedFrom: 'secret' }];
    const remote = [{ ...sides, sha256: 'masked' }];
    expect(pairFiles(base, [{ ...sides, sha256: 'secret' }], remote)).toStrictEqual([]);
    expect(pairFiles(base, [{ ...sides, sha256: 'changed' }], remote)).toHaveLength(1);
  });
});

describe('addConflictLabel', () => {
  it('adds the label before the extension, and shortens a long name', () => {
    const path = at('d/notes.md');
    expect(addConflictLabel(path, path, 'laptop', 1)).toBe('/memories/d/notes (conflict laptop).md');
    expect(addConflictLabel(path, path, 'laptop', 2)).toBe('/memories/d/notes (conflict laptop 2).md');
    expect(addConflictLabel(path, at('d'), 'laptop', 1)).toBe('/memories/d (conflict laptop)/notes.md');
    const long = at(`${'ä'.repeat(126)}.md`);
    const name = addConflictLabel(long, long, 'laptop', 1).slice('/memories/'.length);
    expect(name).toBe(`${'ä'.repeat(117)} (conflict laptop).md`);
  });

  it('names the device and the time of the change', () => {
    const label = conflictLabel(toDeviceName("Ada's laptop/1"), new Date('2026-11-29T14:41:05.123Z'));
    expect(label).toBe('Ada-s-laptop-1 2026-11-29 14.41.05');
  });
});

describe('findCaseVariants', () => {
  it('keeps the path that exists locally, or else the first path', () => {
    const paths = ['a.md', 'A.md', 'b.md', 'C.md', 'c.md'].map(at);
    const variants = findCaseVariants(paths, (path) => path === at('A.md'));
    expect([...variants]).toStrictEqual([at('a.md'), at('c.md')]);
  });
});
