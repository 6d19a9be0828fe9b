import { compareCodePoints } from '../../lib/text-forms.ts';
import type { ListedEntry, Listing, LookupResult, MemoryStore } from '../../memory/memory-store.ts';
import type { MemoryPath } from '../../memory/path.ts';

/** Looks up a path in a memory and in the caller's draft, of which each shows the paths that the other hides. */
export async function lookupWithDraft(
  own: Pick<MemoryStore, 'lookup'>,
  draft: Pick<MemoryStore, 'lookup'>,
  path: MemoryPath,
  maxEntries: number,
): Promise<LookupResult> {
  const [found, proposed] = await Promise.all([own.lookup(path, maxEntries), draft.lookup(path, maxEntries)]);
  if (found.kind === 'missing' || proposed.kind === 'missing')
    return found.kind === 'missing' ? proposed : found;
  if (found.kind === 'file' || proposed.kind === 'file') return found;
  return { kind: 'dir', ...mergeListings(found, proposed, maxEntries) };
}

/**
 * Merges two listings in depth-first order. A directory that is in both is listed once. `total` counts it twice if
 * neither listing is long enough to contain it.
 */
function mergeListings(one: Listing, other: Listing, maxEntries: number): Listing {
  const entries: ListedEntry[] = [];
  let shared = 0;
  for (let [i, j] = [0, 0]; ; ) {
    const [a, b] = [one.entries[i], other.entries[j]];
    const next = a === undefined || (b !== undefined && compareDepthFirst(a, b) > 0) ? b : a;
    if (next === undefined) break;
    entries.push(next);
    if (a?.path === b?.path) shared++;
    if (a?.path === next.path) i++;
    if (b?.path === next.path) j++;
  }
  return { entries: entries.slice(0, maxEntries), total: one.total + other.total - shared };
}

/** Compares entries in the order of listings: a directory's entries directly follow it. */
function compareDepthFirst(one: ListedEntry, other: ListedEntry): number {
  return compareCodePoints(one.path.replaceAll('/', '\x01'), other.path.replaceAll('/', '\x01'));
}
