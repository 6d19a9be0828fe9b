import { type MemoryPath, ROOT } from '../../memory/path.ts';
import type { ListedEntry, Listing, LookupResult, MemoryStore } from '../../memory/store.ts';

/** The root of a mounted memory, as the caller sees it. */
export interface MountedRoot {
  path: MemoryPath;
  /** What is directly in it. Undefined when it is not available, as the note says. */
  listing: Listing | { note: string };
}

/** A mount whose root can be read. */
export interface MountedDirectory {
  path: MemoryPath;
  /** @param maxEntries the listing has no more entries, and counts all of them */
  read(maxEntries: number): Promise<MountedRoot['listing']>;
}

/**
 * Looks up the root of the caller's memory, which also shows each mount as a directory with its direct entries.
 *
 * @param mounts in the order of their paths
 */
export async function lookupWithMounts(
  own: Pick<MemoryStore, 'lookup'>,
  mounts: readonly MountedDirectory[],
  maxEntries: number,
): Promise<LookupResult> {
  const [found, roots] = await Promise.all([
    own.lookup(ROOT, maxEntries),
    readMountedRoots(mounts, maxEntries),
  ]);
  if (found.kind !== 'dir') throw new Error('The root is no directory.');
  const notes = roots.flatMap(({ listing }) => ('note' in listing ? [listing.note] : []));
  return { kind: 'dir', ...mergeRoots(found, roots, maxEntries), notes };
}

/**
 * Reads from all mounts together about twice the entries of a result at most. The first read takes an equal part of
 * each mount and counts its entries; the second one takes the rest of the mounts that begin before the end of the
 * result.
 */
async function readMountedRoots(
  mounts: readonly MountedDirectory[],
  maxEntries: number,
): Promise<MountedRoot[]> {
  const share = Math.ceil(maxEntries / mounts.length);
  const parts = await Promise.all(mounts.map(({ read }) => read(share)));
  let before = 0;
  return Promise.all(
    mounts.map(async ({ path, read }, i) => {
      const part = parts[i] ?? EMPTY;
      const { entries, total } = 'note' in part ? EMPTY : part;
      // Own entries may leave less room.
      const room = maxEntries - before - 1;
      before += 1 + total;
      return { path, listing: entries.length < Math.min(total, room) ? await read(room) : part };
    }),
  );
}

/**
 * Merges listings, all in the same depth-first order, into the first `maxEntries` entries of the whole. An own entry
 * with the name of a mount is hidden.
 *
 * @param roots in the order of their paths
 */
export function mergeRoots(own: Listing, roots: readonly MountedRoot[], maxEntries: number): Listing {
  const entries: ListedEntry[] = [];
  const paths = new Set<string>(roots.map(({ path }) => path));
  let { total } = own;
  let next = 0;
  const addRootsBefore = (top: string | undefined) => {
    for (
      let root = roots[next];
      root && (top === undefined || isBefore(root.path, top));
      root = roots[next]
    ) {
      const listing = 'note' in root.listing ? EMPTY : root.listing;
      entries.push({ path: root.path, kind: 'dir', bytes: 0 });
      // A listing may have more entries than a call takes arguments.
      for (const entry of listing.entries) entries.push(entry);
      next++;
    }
  };
  let top = '';
  for (const entry of own.entries) {
    // The first entry of each top-level name is that of the name itself.
    if (!entry.path.startsWith(`${top}/`) || top === '') {
      top = entry.path;
      addRootsBefore(top);
    }
    if (paths.has(top)) total--;
    else entries.push(entry);
  }
  // Otherwise further own entries may come first, and they alone are as many as are asked for.
  if (own.entries.length === own.total) addRootsBefore(undefined);
  for (const { listing } of roots) total += 1 + ('note' in listing ? 0 : listing.total);
  return { entries: entries.slice(0, maxEntries), total };
}

const EMPTY: Listing = { entries: [], total: 0 };

/** By code point, as the database sorts. */
function isBefore(path: string, other: string): boolean {
  return Buffer.compare(Buffer.from(path), Buffer.from(other)) < 0;
}
