import { compareCodePoints } from '../../lib/text-forms.ts';
import type { ListedEntry, Listing, LookupResult, MemoryStore } from '../../memory/memory-store.ts';
import { type MemoryPath, ROOT } from '../../memory/path.ts';

/** A mounted memory's root, as the caller sees it. */
export interface MountedRoot {
  path: MemoryPath;
  /** Direct entries in the root, or a note that explains why they are unavailable. */
  listing: Listing | { note: string };
}

/** A mount whose root can be read. */
export interface MountedDirectory {
  path: MemoryPath;
  /** @param maxEntries maximum number of entries; `total` counts all entries */
  read(maxEntries: number): Promise<MountedRoot['listing']>;
}

/**
 * Looks up the root in the caller's memory, with each mount as a directory with its direct entries.
 *
 * @param mounts sorted by path
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
 * Reads at most about `2 * maxEntries` entries from all mounts together. The first read gets an equal share from each
 * mount and counts its entries. The second read completes the mounts that begin before the end of the result.
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
      // The caller's entries may leave less room.
      const room = maxEntries - before - 1;
      before += 1 + total;
      return { path, listing: entries.length < Math.min(total, room) ? await read(room) : part };
    }),
  );
}

/**
 * Merges listings, all in the same depth-first order, and returns the first `maxEntries` entries. A mount hides the
 * caller's entry with the same name.
 *
 * @param roots sorted by path
 */
export function mergeRoots(own: Listing, roots: readonly MountedRoot[], maxEntries: number): Listing {
  const entries: ListedEntry[] = [];
  const paths = new Set<string>(roots.map(({ path }) => path));
  let { total } = own;
  let next = 0;
  const addRootsBefore = (top: string | undefined) => {
    for (
      let root = roots[next];
      root && (top === undefined || compareCodePoints(root.path, top) < 0);
      root = roots[next]
    ) {
      const listing = 'note' in root.listing ? EMPTY : root.listing;
      entries.push({ path: root.path, kind: 'dir', bytes: 0 });
      // Pushed one by one, because a listing may have more entries than the maximum number of function arguments.
      for (const entry of listing.entries) entries.push(entry);
      next++;
    }
  };
  let top = '';
  for (const entry of own.entries) {
    // The first entry with each top-level name is the entry for that name.
    if (!entry.path.startsWith(`${top}/`) || top === '') {
      top = entry.path;
      addRootsBefore(top);
    }
    if (paths.has(top)) total--;
    else entries.push(entry);
  }
  // A truncated listing already has `maxEntries` entries, and later entries may sort before the remaining mounts.
  if (own.entries.length === own.total) addRootsBefore(undefined);
  for (const { listing } of roots) total += 1 + ('note' in listing ? 0 : listing.total);
  return { entries: entries.slice(0, maxEntries), total };
}

const EMPTY: Listing = { entries: [], total: 0 };
