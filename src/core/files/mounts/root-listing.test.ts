import { expect, it } from 'vitest';
import type { Listing, MemoryStore } from '../../memory/memory-store.ts';
import type { MemoryPath } from '../../memory/path.ts';
import { lookupWithMounts, mergeRoots } from './root-listing.ts';

const filesIn = (directory: string, count: number): Listing => ({
  entries: Array.from({ length: count }, (_, i) => ({
    path: `${directory}/${i}` as MemoryPath,
    kind: 'file',
    bytes: 0,
  })),
  total: count,
});

it('merges 200,000 entries from one mount into the root listing', () => {
  const count = 200_000;
  const team = { path: '/memories/team' as MemoryPath, listing: filesIn('/memories/team', count) };
  const { entries, total } = mergeRoots(filesIn('/memories', 1), [team], Number.MAX_SAFE_INTEGER);
  expect([entries.length, total]).toStrictEqual([count + 2, count + 2]);
});

it('reads at most twice as many entries from all mounts as one root listing shows', async () => {
  const maxEntries = 1000;
  const counts = [9900, 3, 300, 0, 9900, 9900];
  const directories = counts.map((_, i) => `/memories/m${i}` as MemoryPath);
  const listings = counts.map((count, i) => filesIn(directories[i] ?? '', count));
  const cut = ({ entries, total }: Listing, max: number) => ({ entries: entries.slice(0, max), total });
  let read = 0;
  for (const ownCount of [0, 5, 2000]) {
    // The first of two own files sorts before the mounts.
    const ownFiles = filesIn(`/memories/${ownCount % 2 ? 'a' : 'z'}`, ownCount);
    const own = { lookup: async (_: string, max: number) => ({ kind: 'dir', ...cut(ownFiles, max) }) };
    for (const first of [0, 1, 3]) {
      read = 0;
      const mounts = directories.slice(first).map((path, i) => ({
        path,
        read: async (max: number) => {
          const listing = cut(listings[first + i] ?? filesIn('', 0), max);
          read += listing.entries.length;
          return listing;
        },
      }));
      const shown = await lookupWithMounts(own as Pick<MemoryStore, 'lookup'>, mounts, maxEntries);
      const whole = directories
        .slice(first)
        .map((path, i) => ({ path, listing: listings[first + i] ?? filesIn('', 0) }));
      expect(shown).toStrictEqual({
        kind: 'dir',
        ...mergeRoots(cut(ownFiles, maxEntries), whole, maxEntries),
        notes: [],
      });
      expect(read).toBeLessThanOrEqual(2 * maxEntries + mounts.length);
    }
  }
});
