import type { Entry } from '../../api/types.ts';

export const ROOT = '/memories';

/** Entries of a directory that follow each other. */
export interface Part {
  entries: Entry[];
  /** Where the entries after them begin; null when there are none. */
  next: string | null;
}

/** How much is below a directory. */
export interface Size {
  files: number;
  bytes: number;
}

/** What is loaded of a memory: a directory at a time, each a page at a time. */
export interface Tree {
  /** The parts of each directory that is loaded. Between two of them, there are entries that are not loaded. */
  directories: Map<string, Part[]>;
  /** Known for a directory once all files in it are counted. */
  sizes: Map<string, Size>;
}

export type Row =
  | { kind: 'file' | 'directory'; path: string; entry: Entry; name: string; level: number }
  /** Stands for entries that are not loaded yet: those after a part. */
  | { kind: 'more'; path: string; part: number; level: number };

/** The rows of a tree, as far as its directories are open. */
export function rowsOf(tree: Tree, isOpen: (path: string) => boolean): Row[] {
  const rows: Row[] = [];
  const add = (directory: string, level: number) => {
    for (const [part, { entries, next }] of (tree.directories.get(directory) ?? []).entries()) {
      for (const entry of entries) {
        const { path, kind } = entry;
        rows.push({ kind, path, entry, name: nameOf(path), level });
        if (kind === 'directory' && isOpen(path)) add(path, level + 1);
      }
      if (next !== null) rows.push({ kind: 'more', path: directory, part, level });
    }
  };
  add(ROOT, 1);
  return rows;
}

export const nameOf = (path: string) => path.slice(path.lastIndexOf('/') + 1);

export const parentOf = (path: string) => path.slice(0, path.lastIndexOf('/'));

/** A path without the root's name, which all have in common. */
export const shortPath = (path: string) => path.replace(`${ROOT}/`, '');

/** The directories above a path, the root first. */
export function ancestorsOf(path: string): string[] {
  const names = path.split('/').slice(1, -1);
  return names.map((_, i) => `/${names.slice(0, i + 1).join('/')}`);
}

/** The entry at a path, if it is loaded. */
export function entryAt(tree: Tree, path: string): Entry | undefined {
  for (const { entries } of tree.directories.get(parentOf(path)) ?? []) {
    const found = entries.find((entry) => entry.path === path);
    if (found) return found;
  }
  return undefined;
}

/** The parts of a directory with a further page after one of them, which may reach the next part. */
export function withPage(parts: readonly Part[], index: number, page: Part): Part[] {
  const [part, following] = [parts[index], parts[index + 1]];
  if (part === undefined) return [...parts];
  const entries = [...part.entries, ...page.entries];
  const [before, after] = [parts.slice(0, index), parts.slice(index + 1)];
  if (following === undefined) return [...before, { entries, next: page.next }];
  // There is nothing after this page, or the next part begins in it.
  if (page.next === null) return [...before, { entries, next: null }];
  const meets = entries.findIndex(({ path }) => path === following.entries[0]?.path);
  if (meets === -1) return [...before, { entries, next: page.next }, ...after];
  const joined = { entries: [...entries.slice(0, meets), ...following.entries], next: following.next };
  return [...before, joined, ...after.slice(1)];
}
