import { contentHash } from '../../../core/files/file-changes.ts';
import { type MergedTexts, mergeFile, needsLines, takeDraft } from '../../../core/history/merge-file.ts';
import type { SideFile, ThreeWay } from '../../../core/history/three-way.ts';
import { ancestorPaths, type MemoryPath } from '../../../core/memory/path.ts';
import { addConflictLabel } from './conflict-path.ts';

/*
 * Plans a synchronization as a merge: the local directory is the draft, the memory is the original, and the base is the
 * state after the last synchronization.
 */

/** A file in the base. */
export interface BaseFile {
  path: MemoryPath;
  /** Null if the file has not been listed since it was created. */
  memoryId: string | null;
  /** Content hash in the memory. */
  sha256: string;
  /** Local content hash, if the memory masks secrets in the content. */
  maskedFrom?: string | undefined;
}

export interface LocalFile {
  path: MemoryPath;
  sha256: string;
  modifiedAt: Date;
}

export interface RemoteFile {
  path: MemoryPath;
  memoryId: string;
  sha256: string;
}

/** A file on a side. `versionId` is the content's hash. */
export type Side = SideFile;

/** A file's path and content on both sides after the synchronization. */
export interface Target {
  path: MemoryPath;
  sha256: string;
}

export interface PlannedFile extends ThreeWay<Side> {
  /** Null if the file is deleted. */
  target: Target | null;
  /** The local file whose content this file preserves, because the memory's content replaces it. */
  copyOf?: MemoryPath;
}

const toSide = (path: MemoryPath, sha256: string, memoryId: string): Side => ({
  memoryId,
  versionId: sha256,
  path,
  sizeBytes: 0,
});

export const sameContent = (a: Side, b: Side) => a.versionId === b.versionId;

/**
 * Pairs the files on the three sides. In the memory, a file's ID identifies it, or else its path. In the directory, its
 * path identifies it, or else its content, so that a renamed file remains the same file.
 */
export function pairFiles(
  base: Iterable<BaseFile>,
  local: Iterable<LocalFile>,
  remote: Iterable<RemoteFile>,
): ThreeWay<Side>[] {
  const drafts = new Map<string, Side>();
  for (const { path, sha256 } of local) drafts.set(path, toSide(path, sha256, ''));
  const originals = new Map<string, Side>();
  for (const { path, sha256, memoryId } of remote) originals.set(path, toSide(path, sha256, memoryId));
  const bases = Array.from(base, (file) => ({ ...file, masked: file.maskedFrom }));
  const files = bases.map(({ path, sha256, memoryId }): ThreeWay<Side> => {
    return { id: memoryId ?? path, base: toSide(path, sha256, memoryId ?? ''), draft: null, original: null };
  });
  take(files, 'original', originals, ({ memoryId }) => memoryId);
  take(files, 'original', originals, ({ path }) => path);
  take(files, 'draft', drafts, ({ path }) => path);
  take(files, 'draft', drafts, ({ versionId }) => versionId);
  for (const original of originals.values())
    files.push({ id: original.memoryId, base: null, draft: null, original });
  take(
    files.filter(({ base }) => base === null),
    'draft',
    drafts,
    ({ path }) => path,
  );
  for (const draft of drafts.values()) files.push({ id: draft.path, base: null, draft, original: null });
  const maskedFrom = new Map(bases.map(({ path, masked }) => [path, masked]));
  return files.filter((file) => !isMaskedOnly(file, maskedFrom));
}

/** Assigns files on a side, keyed by path, to files that lack the side. */
function take(
  files: readonly ThreeWay<Side>[],
  side: 'draft' | 'original',
  byPath: Map<string, Side>,
  getKey: (file: Side) => string,
): void {
  const byKey = Map.groupBy(byPath.values(), getKey);
  for (const file of files) {
    const known = file.base ?? file.original;
    if (file[side] !== null || known === null) continue;
    const found = byKey.get(getKey(known))?.shift();
    if (found === undefined) continue;
    file[side] = found;
    byPath.delete(found.path);
  }
}

/** Whether the sides differ only in the secrets that the memory masks. */
function isMaskedOnly(
  { base, draft, original }: ThreeWay<Side>,
  maskedFrom: ReadonlyMap<MemoryPath, string | undefined>,
): boolean {
  if (base === null || draft === null || original === null) return false;
  const isUnmoved = draft.path === base.path && original.path === base.path;
  return isUnmoved && sameContent(base, original) && maskedFrom.get(base.path) === draft.versionId;
}

/** Returns the files whose lines have to be merged. */
export function filesToMerge(files: readonly ThreeWay<Side>[]): ThreeWay<Side>[] {
  return files.filter((file) => needsLines(file, sameContent));
}

/**
 * Chooses each file's path and content. Where the sides conflict, a change precedes a deletion, the memory's path
 * precedes the local path, and the memory's content precedes the local content, which becomes a separate file.
 *
 * @param texts merged lines by file ID; null if the lines conflict
 * @param label returns the text in the name for a copy
 */
export function planFiles(
  files: readonly ThreeWay<Side>[],
  texts: MergedTexts,
  label: (local: MemoryPath) => string,
): PlannedFile[] {
  const planned: PlannedFile[] = [];
  for (const file of files) {
    const { target, isContentKept } = chooseTarget(file, texts);
    planned.push({ ...file, target });
    const { draft } = file;
    if (isContentKept || draft === null || target === null) continue;
    // The file itself is at the path, so `placeFiles` chooses another path for the copy.
    const copy = { path: target.path, sha256: draft.versionId };
    const id = `copy ${file.id}`;
    planned.push({ id, base: null, draft: null, original: null, target: copy, copyOf: draft.path });
  }
  return placeFiles(planned, label);
}

function chooseTarget(file: ThreeWay<Side>, texts: MergedTexts) {
  const { draft, original } = file;
  let merged = mergeFile(file, sameContent, texts);
  if (merged.conflict === 'path' && draft !== null && original !== null)
    merged = mergeFile({ ...file, draft: { ...draft, path: original.path } }, sameContent, texts);
  const isDeleted = merged.conflict === 'deleted_in_original';
  const outcome = isDeleted ? takeDraft(file, sameContent) : merged.outcome;
  if (outcome === null) return { target: null, isContentKept: true };
  const { path, content } = outcome;
  const kept = content === 'keep' ? original : draft;
  const sha256 = typeof content === 'string' ? (kept?.versionId ?? '') : contentHash(content.text);
  return { target: { path, sha256 }, isContentKept: merged.conflict !== 'content' };
}

/** Order in which files choose their paths: files in the memory first, then files that stay where they are. */
function rank({ original, draft, target }: PlannedFile): number {
  if (target?.path === original?.path) return 0;
  return target?.path === draft?.path ? 1 : 2;
}

/** Moves files whose paths are occupied, or are below another file, to free paths. */
function placeFiles(files: PlannedFile[], label: (local: MemoryPath) => string): PlannedFile[] {
  const tree = new TargetTree();
  const placed: PlannedFile[] = [];
  // A copy does not take the path of a file that is moved or deleted in the same synchronization.
  const occupied = new Set(files.flatMap(({ draft, original }) => [draft?.path, original?.path]));
  for (const file of files.toSorted((a, b) => rank(a) - rank(b))) {
    const { original, draft, target, copyOf } = file;
    if (target === null) {
      placed.push(file);
      continue;
    }
    const { path, sha256 } = target;
    const candidates = original === null ? [path] : [path, original.path];
    let free = candidates.find((candidate) => tree.isFree(candidate));
    // The same content is at a path already, for example after an interruption.
    const isPresent = (each: MemoryPath) => original === null && tree.has({ path: each, sha256 });
    for (let attempt = 1; free === undefined && !candidates.some(isPresent); attempt++) {
      const name = label(copyOf ?? draft?.path ?? path);
      const conflict = addConflictLabel(path, tree.blockingPath(path), name, attempt);
      candidates.push(conflict);
      if (tree.isFree(conflict) && !occupied.has(conflict)) free = conflict;
    }
    if (free === undefined) continue;
    tree.add({ path: free, sha256 });
    const isMoved = original === null && free !== draft?.path && draft !== null;
    placed.push({ ...file, target: { path: free, sha256 }, ...(isMoved && { copyOf: draft.path }) });
  }
  return placed;
}

/** The files after the synchronization. */
class TargetTree {
  readonly #files = new Map<MemoryPath, string>();
  readonly #directories = new Set<MemoryPath>();

  add({ path, sha256 }: Target): void {
    this.#files.set(path, sha256);
    for (const directory of ancestorPaths(path)) this.#directories.add(directory);
  }

  has({ path, sha256 }: Target): boolean {
    return this.#files.get(path) === sha256;
  }

  isFree(path: MemoryPath): boolean {
    return !this.#directories.has(path) && this.blockingPath(path) === path && !this.#files.has(path);
  }

  /** Returns the file above the path that blocks the path, or the path itself. */
  blockingPath(path: MemoryPath): MemoryPath {
    return ancestorPaths(path).find((ancestor) => this.#files.has(ancestor)) ?? path;
  }
}
