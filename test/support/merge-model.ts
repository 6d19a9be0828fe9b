import type { Resolution } from '../../src/drafts/merge-file.ts';

/*
 * What the contract says of merging drafts, file by file and line by line, by brute force. It knows nothing of the
 * service.
 */

/** A file: its lines that are changed, with lines between them that never are. */
export interface ModelFile {
  path: string;
  lines: string[];
}

/** Files by their identity, which the model gives, and directories without the root. */
export interface Model {
  files: Map<number, ModelFile>;
  directories: Set<string>;
}

export interface ModelSides {
  base: Model;
  draft: Model;
  original: Model;
}

/** A file that was settled by a text is that text. */
export const textOf = ({ lines }: ModelFile) =>
  lines.length === 1 ? String(lines[0]) : lines.map((line, i) => `${line}\n-- ${i} --\n`).join('');

export const copyOf = ({ files, directories }: Model): Model => ({
  files: new Map([...files].map(([id, file]) => [id, { ...file, lines: [...file.lines] }])),
  directories: new Set(directories),
});

/** The directories above a path, without the root. */
export function parentsOf(path: string): string[] {
  const names = path.split('/').slice(2, -1);
  return names.map((_, i) => ['/memories', ...names.slice(0, i + 1)].join('/'));
}

const isWithin = (path: string, directory: string) => path === directory || path.startsWith(`${directory}/`);
const collide = (one: string, other: string) => isWithin(one, other) || isWithin(other, one);

/** The tree as tests read it: null for a directory. Two files at one path are told. */
export function treeOf({ files, directories }: Model): Map<string, string | null> {
  const tree = new Map<string, string | null>([...directories].map((path) => [path, null]));
  for (const file of files.values()) {
    if (tree.has(file.path)) throw new Error(`The model has two things at ${file.path}.`);
    tree.set(file.path, textOf(file));
  }
  return new Map([...tree].sort());
}

/** Who deletes a file and puts another in its place has changed it, and what both sides put at one path is one file. */
export function joinNewcomers({ base, draft, original }: ModelSides): void {
  const rename = (side: Model, from: number, to: number) => {
    const file = side.files.get(from);
    side.files.delete(from);
    if (file !== undefined) side.files.set(to, file);
  };
  const newAt = (side: Model, path: string) =>
    [...side.files].find(([id, file]) => !base.files.has(id) && file.path === path)?.[0];
  for (const side of [draft, original]) {
    for (const [id, { path }] of base.files) {
      const comer = side.files.has(id) ? undefined : newAt(side, path);
      if (comer !== undefined) rename(side, comer, id);
    }
  }
  for (const [id, { path }] of [...draft.files]) {
    const comer = base.files.has(id) ? undefined : newAt(original, path);
    if (comer !== undefined) rename(original, comer, id);
  }
}

type Kept = ModelFile | undefined;

const same = (a: Kept, b: Kept) =>
  a === b || (a !== undefined && b !== undefined && a.path === b.path && textOf(a) === textOf(b));

export const filesOf = ({ base, draft, original }: ModelSides, id: number): [Kept, Kept, Kept] => [
  base.files.get(id),
  draft.files.get(id),
  original.files.get(id),
];

const idsOf = ({ base, draft, original }: ModelSides) =>
  new Set([...base.files.keys(), ...draft.files.keys(), ...original.files.keys()]);

export const isChangedInDraft = (sides: ModelSides, id: number) => {
  const [base, draft] = filesOf(sides, id);
  return !same(base, draft);
};

/** What becomes of a file by itself, or `conflict`. */
function mergeOne(sides: ModelSides, id: number): Kept | 'conflict' {
  const [b, d, o] = filesOf(sides, id);
  if (same(b, d)) return o;
  if (same(b, o) || same(d, o)) return d;
  return d === undefined || o === undefined ? 'conflict' : (mergeFiles(b, d, o) ?? 'conflict');
}

function pathOfBoth(b: Kept, d: ModelFile, o: ModelFile): string | undefined {
  if (d.path === o.path || d.path === b?.path) return o.path;
  return o.path === b?.path ? d.path : undefined;
}

function mergeFiles(b: Kept, d: ModelFile, o: ModelFile): ModelFile | null {
  const path = pathOfBoth(b, d, o);
  if (path === undefined) return null;
  if (textOf(d) === textOf(o)) return { path, lines: o.lines };
  // Only one side has another text: it is that one, however many lines it has.
  if (b !== undefined && textOf(d) === textOf(b)) return { path, lines: o.lines };
  if (b !== undefined && textOf(o) === textOf(b)) return { path, lines: d.lines };
  if (b === undefined || b.lines.length !== d.lines.length || b.lines.length !== o.lines.length) return null;
  const lines: string[] = [];
  for (const [i, before] of b.lines.entries()) {
    const [mine, theirs] = [d.lines[i] ?? '', o.lines[i] ?? ''];
    if (mine !== before && theirs !== before && mine !== theirs) return null;
    lines.push(mine === before ? theirs : mine);
  }
  return { path, lines };
}

function settleOne(sides: ModelSides, id: number, resolution: Resolution): Kept {
  const [b, d, o] = filesOf(sides, id);
  if (resolution === 'draft') return d;
  if (resolution === 'original') return o;
  const path = (d && o && pathOfBoth(b, d, o)) ?? d?.path ?? o?.path;
  return path === undefined ? undefined : { path, lines: [resolution.text] };
}

export interface ModelMerge {
  /** Files whose sides do not go together. */
  conflicts: Set<number>;
  /** Files that cannot come where they are to come, and do not conflict otherwise. */
  occupied: Set<number>;
  /**
   * By the files that the draft has elsewhere than the original: the files that block them, or an empty list for an
   * empty directory.
   */
  blockedBy: Map<number, Set<number>>;
  /** What was settled, or makes room for that, and becomes as in the draft. */
  asInDraft: Set<number>;
  result: Model;
}

/** What a merge makes, with some files settled. */
export function mergeModels(sides: ModelSides, resolutions: ReadonlyMap<number, Resolution>): ModelMerge {
  const settled = [...resolutions].flatMap(([id, each]) => (each === 'draft' ? [id] : []));
  const asInDraft = new Set(settled);
  if (settled.length > 0) {
    const { blockedBy } = mergeModels(sides, new Map());
    for (const id of settled)
      for (const other of blockedBy.get(id) ?? []) if (!resolutions.has(other)) asInDraft.add(other);
  }
  const conflicts = new Set<number>();
  const outcomes = new Map<number, Kept>();
  for (const id of idsOf(sides)) {
    const resolution = asInDraft.has(id) ? 'draft' : resolutions.get(id);
    const outcome = resolution === undefined ? mergeOne(sides, id) : settleOne(sides, id, resolution);
    if (outcome === 'conflict') conflicts.add(id);
    outcomes.set(id, outcome === 'conflict' ? sides.original.files.get(id) : outcome);
  }
  return { ...place(sides, outcomes, settled), conflicts, asInDraft };
}

/** Puts files where they are to come, except blocked files. */
function place(sides: ModelSides, outcomes: ReadonlyMap<number, Kept>, settled: readonly number[]) {
  const { base, draft, original } = sides;
  const cleared = settled.flatMap((id) => draft.files.get(id)?.path ?? []);
  const mayGo = (directory: string) =>
    (base.directories.has(directory) && !draft.directories.has(directory)) ||
    cleared.some((path) => isWithin(directory, path));
  const occupied = new Set<number>();
  const stays = (id: number) => occupied.has(id) || outcomes.get(id)?.path === original.files.get(id)?.path;
  const filesAround = (path: string, self: number) =>
    [...original.files].flatMap(([id, file]) =>
      id !== self && stays(id) && collide(file.path, path) ? [id] : [],
    );
  const hasDirectory = (path: string) =>
    [...original.directories].some((each) => isWithin(each, path) && !mayGo(each));
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
    [...original.directories].some((below) => isWithin(below, each) && !mayGo(below)),
  );
  const needed = [...paths, ...made].flatMap(parentsOf);
  return { occupied, blockedBy, result: { files, directories: new Set([...kept, ...made, ...needed]) } };
}
