import type { Resolution } from '../../src/core/history/merge-file.ts';

/* Independent model for merging drafts by the contract, file by file and line by line, by brute force. */

/** A file with its changing lines. Constant lines separate them in the text. */
export interface ModelFile {
  path: string;
  lines: string[];
}

/** Files by an identity that the model assigns, and directories without the root. */
export interface Model {
  files: Map<number, ModelFile>;
  directories: Set<string>;
}

export interface ModelSides {
  base: Model;
  draft: Model;
  original: Model;
}

/** A file that was resolved by a text consists of this text. */
export const modelText = ({ lines }: ModelFile) =>
  lines.length === 1 ? String(lines[0]) : lines.map((line, i) => `${line}\n-- ${i} --\n`).join('');

export const copyModel = ({ files, directories }: Model): Model => ({
  files: new Map([...files].map(([id, file]) => [id, { ...file, lines: [...file.lines] }])),
  directories: new Set(directories),
});

export function parentDirectories(path: string): string[] {
  const names = path.split('/').slice(2, -1);
  return names.map((_, i) => ['/memories', ...names.slice(0, i + 1)].join('/'));
}

const isWithin = (path: string, directory: string) => path === directory || path.startsWith(`${directory}/`);
const collide = (one: string, other: string) => isWithin(one, other) || isWithin(other, one);

/** Returns the tree in the tests' form, with null for a directory. Throws if two files have one path. */
export function modelTree({ files, directories }: Model): Map<string, string | null> {
  const tree = new Map<string, string | null>([...directories].map((path) => [path, null]));
  for (const file of files.values()) {
    if (tree.has(file.path)) throw new Error(`The model has two things at ${file.path}.`);
    tree.set(file.path, modelText(file));
  }
  return new Map([...tree].sort());
}

/**
 * Treats a file that replaces another file at its path as a change to the other file, and files that both sides create
 * at one path as one file.
 */
export function joinAddedFiles({ base, draft, original }: ModelSides): void {
  const rename = (side: Model, from: number, to: number) => {
    const file = side.files.get(from);
    side.files.delete(from);
    if (file !== undefined) side.files.set(to, file);
  };
  const findAdded = (side: Model, path: string) =>
    [...side.files].find(([id, file]) => !base.files.has(id) && file.path === path)?.[0];
  for (const side of [draft, original]) {
    for (const [id, { path }] of base.files) {
      const comer = side.files.has(id) ? undefined : findAdded(side, path);
      if (comer !== undefined) rename(side, comer, id);
    }
  }
  for (const [id, { path }] of [...draft.files]) {
    const comer = base.files.has(id) ? undefined : findAdded(original, path);
    if (comer !== undefined) rename(original, comer, id);
  }
}

type Kept = ModelFile | undefined;

const isSameFile = (a: Kept, b: Kept) =>
  a === b || (a !== undefined && b !== undefined && a.path === b.path && modelText(a) === modelText(b));

export const fileSides = ({ base, draft, original }: ModelSides, id: number): [Kept, Kept, Kept] => [
  base.files.get(id),
  draft.files.get(id),
  original.files.get(id),
];

const allIds = ({ base, draft, original }: ModelSides) =>
  new Set([...base.files.keys(), ...draft.files.keys(), ...original.files.keys()]);

export const isChangedInDraft = (sides: ModelSides, id: number) => {
  const [base, draft] = fileSides(sides, id);
  return !isSameFile(base, draft);
};

/** Returns the merged file without regard to other files, or `conflict`. */
function mergeOne(sides: ModelSides, id: number): Kept | 'conflict' {
  const [b, d, o] = fileSides(sides, id);
  if (isSameFile(b, d)) return o;
  if (isSameFile(b, o) || isSameFile(d, o)) return d;
  return d === undefined || o === undefined ? 'conflict' : (mergeFiles(b, d, o) ?? 'conflict');
}

function mergePath(b: Kept, d: ModelFile, o: ModelFile): string | undefined {
  if (d.path === o.path || d.path === b?.path) return o.path;
  return o.path === b?.path ? d.path : undefined;
}

function mergeFiles(b: Kept, d: ModelFile, o: ModelFile): ModelFile | null {
  const path = mergePath(b, d, o);
  if (path === undefined) return null;
  if (modelText(d) === modelText(o)) return { path, lines: o.lines };
  // If only one side has another text, the result is this text.
  if (b !== undefined && modelText(d) === modelText(b)) return { path, lines: o.lines };
  if (b !== undefined && modelText(o) === modelText(b)) return { path, lines: d.lines };
  if (b === undefined || b.lines.length !== d.lines.length || b.lines.length !== o.lines.length) return null;
  const lines: string[] = [];
  for (const [i, before] of b.lines.entries()) {
    const [mine, theirs] = [d.lines[i] ?? '', o.lines[i] ?? ''];
    if (mine !== before && theirs !== before && mine !== theirs) return null;
    lines.push(mine === before ? theirs : mine);
  }
  return { path, lines };
}

function resolveOne(sides: ModelSides, id: number, resolution: Resolution): Kept {
  const [b, d, o] = fileSides(sides, id);
  if (resolution === 'draft') return d;
  if (resolution === 'original') return o;
  const path = (d && o && mergePath(b, d, o)) ?? d?.path ?? o?.path;
  return path === undefined ? undefined : { path, lines: [resolution.text] };
}

export interface ModelMerge {
  /** Files whose sides conflict. */
  conflicts: Set<number>;
  /** Files without another conflict whose path is occupied. */
  occupied: Set<number>;
  /**
   * Files that block a file by that file's ID, for each file whose path differs between the draft and the original. An
   * empty directory gives an empty list.
   */
  blockedBy: Map<number, Set<number>>;
  /** Files that were resolved by `draft` or unblock such a file, and that change to their state in the draft. */
  asInDraft: Set<number>;
  result: Model;
}

/** Merges with some files resolved. */
export function mergeModels(sides: ModelSides, resolutions: ReadonlyMap<number, Resolution>): ModelMerge {
  const resolved = [...resolutions].flatMap(([id, each]) => (each === 'draft' ? [id] : []));
  const asInDraft = new Set(resolved);
  if (resolved.length > 0) {
    const { blockedBy } = mergeModels(sides, new Map());
    for (const id of resolved)
      for (const other of blockedBy.get(id) ?? []) if (!resolutions.has(other)) asInDraft.add(other);
  }
  const conflicts = new Set<number>();
  const outcomes = new Map<number, Kept>();
  for (const id of allIds(sides)) {
    const resolution = asInDraft.has(id) ? 'draft' : resolutions.get(id);
    const outcome = resolution === undefined ? mergeOne(sides, id) : resolveOne(sides, id, resolution);
    if (outcome === 'conflict') conflicts.add(id);
    outcomes.set(id, outcome === 'conflict' ? sides.original.files.get(id) : outcome);
  }
  return { ...place(sides, outcomes, resolved), conflicts, asInDraft };
}

/** Places all files at their paths in the result, except blocked files. */
function place(sides: ModelSides, outcomes: ReadonlyMap<number, Kept>, resolved: readonly number[]) {
  const { base, draft, original } = sides;
  const cleared = resolved.flatMap((id) => draft.files.get(id)?.path ?? []);
  const canRemove = (directory: string) =>
    (base.directories.has(directory) && !draft.directories.has(directory)) ||
    cleared.some((path) => isWithin(directory, path));
  const occupied = new Set<number>();
  const isKept = (id: number) => occupied.has(id) || outcomes.get(id)?.path === original.files.get(id)?.path;
  const filesAround = (path: string, self: number) =>
    [...original.files].flatMap(([id, file]) =>
      id !== self && isKept(id) && collide(file.path, path) ? [id] : [],
    );
  const hasDirectory = (path: string) =>
    [...original.directories].some((each) => isWithin(each, path) && !canRemove(each));
  for (let before = -1; before < occupied.size; ) {
    before = occupied.size;
    for (const [id, outcome] of outcomes) {
      if (outcome === undefined || outcome.path === original.files.get(id)?.path) continue;
      if (filesAround(outcome.path, id).length > 0 || hasDirectory(outcome.path)) occupied.add(id);
    }
  }
  const blockedBy = new Map<number, Set<number>>();
  for (const [id, { path }] of draft.files) {
    if (path === original.files.get(id)?.path) continue;
    const files = filesAround(path, id);
    if (files.length > 0 || hasDirectory(path)) blockedBy.set(id, new Set(files));
  }
  const files = new Map<number, ModelFile>();
  for (const [id, outcome] of outcomes) {
    const file = occupied.has(id) ? original.files.get(id) : outcome;
    if (file !== undefined) files.set(id, file);
  }
  const paths = [...files.values()].map(({ path }) => path);
  const made = [...draft.directories].filter(
    (each) => !base.directories.has(each) && !paths.some((path) => isWithin(each, path)),
  );
  const kept = [...original.directories].filter((each) =>
    [...original.directories].some((below) => isWithin(below, each) && !canRemove(below)),
  );
  const needed = [...paths, ...made].flatMap(parentDirectories);
  return { occupied, blockedBy, result: { files, directories: new Set([...kept, ...made, ...needed]) } };
}
