import type { Entry, TenantMount } from '../../api/api-types.ts';

export const ROOT = '/memories';

/** Consecutive entries in a directory. */
export interface Part {
  entries: Entry[];
  /** Cursor for the following entries, or null at the end. */
  next: string | null;
}

/** Total size of the files below a directory. */
export interface Size {
  files: number;
  bytes: number;
}

/** The loaded part of a memory. Directories load on demand, page by page. */
export interface Tree {
  /** Loaded parts by directory. Entries between two parts are not loaded. */
  directories: Map<string, Part[]>;
  /** Sizes for the directories whose files are counted. */
  sizes: Map<string, Size>;
}

/** Words for a mount's access. */
export const ACCESS: Record<TenantMount['access'], string> = {
  read_only: 'read only',
  propose: 'propose changes',
  read_write: 'read and write',
};

export type Row =
  /** Another memory, which the tenant shows as a directory. */
  | { kind: 'mount'; path: string; mount: TenantMount; level: 1 }
  | { kind: 'file' | 'directory'; path: string; entry: Entry; name: string; level: number }
  /** Placeholder for the entries after a part, which are not loaded. */
  | { kind: 'more'; path: string; part: number; level: number };

/** @param mounts the tenant's mounts, which are the first rows */
export function treeRows(
  tree: Tree,
  isOpen: (path: string) => boolean,
  mounts: readonly TenantMount[] = [],
): Row[] {
  const rows: Row[] = mounts.map((mount) => ({
    kind: 'mount',
    path: `${ROOT}/${mount.name}`,
    mount,
    level: 1,
  }));
  const add = (directory: string, level: number) => {
    for (const [part, { entries, next }] of (tree.directories.get(directory) ?? []).entries()) {
      for (const entry of entries) {
        const { path, kind } = entry;
        rows.push({ kind, path, entry, name: baseName(path), level });
        if (kind === 'directory' && isOpen(path)) add(path, level + 1);
      }
      if (next !== null) rows.push({ kind: 'more', path: directory, part, level });
    }
  };
  add(ROOT, 1);
  return rows;
}

export const baseName = (path: string) => path.slice(path.lastIndexOf('/') + 1);

export const directoryAbove = (path: string) => path.slice(0, path.lastIndexOf('/'));

/** Returns a path without the root's name, which is the same for all paths. */
export const shortPath = (path: string) => path.replace(`${ROOT}/`, '');

/** Returns the directories above a path, beginning with the root. */
export function directoriesAbove(path: string): string[] {
  const names = path.split('/').slice(1, -1);
  return names.map((_, i) => `/${names.slice(0, i + 1).join('/')}`);
}

/** Returns the entry at a path, if loaded. */
export function findEntry(tree: Tree, path: string): Entry | undefined {
  for (const { entries } of tree.directories.get(directoryAbove(path)) ?? []) {
    const found = entries.find((entry) => entry.path === path);
    if (found) return found;
  }
  return undefined;
}

/** Appends a page to a part of a directory. If the page reaches the next part, joins the two parts. */
export function withPage(parts: readonly Part[], index: number, page: Part): Part[] {
  const [part, following] = [parts[index], parts[index + 1]];
  if (part === undefined) return [...parts];
  const entries = [...part.entries, ...page.entries];
  const [before, after] = [parts.slice(0, index), parts.slice(index + 1)];
  if (following === undefined) return [...before, { entries, next: page.next }];
  // A page without a next page ends the directory, so it contains all later parts.
  if (page.next === null) return [...before, { entries, next: null }];
  const meets = entries.findIndex(({ path }) => path === following.entries[0]?.path);
  if (meets === -1) return [...before, { entries, next: page.next }, ...after];
  const joined = { entries: [...entries.slice(0, meets), ...following.entries], next: following.next };
  return [...before, joined, ...after.slice(1)];
}
