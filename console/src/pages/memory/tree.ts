import type { Entry } from '../../api/types.ts';

export const ROOT = '/memories';

export interface Node {
  entry: Entry;
  name: string;
  /** 1 below the root. */
  level: number;
  children: Node[];
  /** Bytes of all files below. */
  totalBytes: number;
}

export interface Tree {
  children: Node[];
  nodes: Map<string, Node>;
  files: number;
}

/** @param entries each directory before what it contains */
export function treeOf(entries: readonly Entry[]): Tree {
  const tree: Tree = { children: [], nodes: new Map(), files: 0 };
  for (const entry of entries) {
    const slash = entry.path.lastIndexOf('/');
    const parent = tree.nodes.get(entry.path.slice(0, slash));
    const level = (parent?.level ?? 0) + 1;
    const size = entry.size_bytes ?? 0;
    const node = { entry, name: entry.path.slice(slash + 1), level, children: [], totalBytes: size };
    (parent ?? tree).children.push(node);
    tree.nodes.set(entry.path, node);
    if (entry.kind === 'file') tree.files++;
    if (size > 0) addToAncestors(tree, entry.path, size);
  }
  for (const node of tree.nodes.values()) node.children.sort(directoriesFirst);
  tree.children.sort(directoriesFirst);
  return tree;
}

function addToAncestors(tree: Tree, path: string, bytes: number): void {
  for (const ancestor of ancestorsOf(path)) {
    const node = tree.nodes.get(ancestor);
    if (node) node.totalBytes += bytes;
  }
}

/** The directories above a path, without the root. */
export function ancestorsOf(path: string): string[] {
  const segments = path.split('/').slice(2, -1);
  return segments.map((_, i) => `${ROOT}/${segments.slice(0, i + 1).join('/')}`);
}

const kindOrder = { directory: 0, file: 1 };
const directoriesFirst = (a: Node, b: Node) =>
  kindOrder[a.entry.kind] - kindOrder[b.entry.kind] || (a.name < b.name ? -1 : 1);

/** The rows of a tree, as far as its directories are open. */
export function rowsOf(tree: Tree, isOpen: (path: string) => boolean): Node[] {
  const rows: Node[] = [];
  const add = (nodes: readonly Node[]) => {
    for (const node of nodes) {
      rows.push(node);
      if (node.children.length > 0 && isOpen(node.entry.path)) add(node.children);
    }
  };
  add(tree.children);
  return rows;
}
