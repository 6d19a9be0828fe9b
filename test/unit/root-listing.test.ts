/** Merging the listing of the root with those of mounts. */
import { expect, it } from 'vitest';
import type { MemoryPath } from '../../src/memory/path.ts';
import type { Listing } from '../../src/memory/store.ts';
import { mergeRoots } from '../../src/mounts/root-listing.ts';

const filesIn = (directory: string, count: number): Listing => ({
  entries: Array.from({ length: count }, (_, i) => ({
    path: `${directory}/${i}` as MemoryPath,
    kind: 'file',
    bytes: 0,
  })),
  total: count,
});

it('takes any number of entries of a mount', () => {
  const count = 200_000;
  const team = { path: '/memories/team' as MemoryPath, listing: filesIn('/memories/team', count) };
  const { entries, total } = mergeRoots(filesIn('/memories', 1), [team], Number.MAX_SAFE_INTEGER);
  expect([entries.length, total]).toStrictEqual([count + 2, count + 2]);
});
