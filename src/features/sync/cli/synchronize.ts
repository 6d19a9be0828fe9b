import { explain } from '../../../core/cli/hints.ts';
import { type ErrorReason, OperatorError, ServiceError } from '../../../core/errors/errors.ts';
import { contentHash } from '../../../core/files/file-changes.ts';
import { MergeThreads } from '../../../core/history/line-merge.ts';
import type { ThreeTexts } from '../../../core/history/merge-lines.ts';
import type { ThreeWay } from '../../../core/history/three-way.ts';
import { amount } from '../../../core/lib/units.ts';
import { ancestorPaths, type MemoryPath } from '../../../core/memory/path.ts';
import { findCaseVariants } from './case-variants.ts';
import { localChanges, memoryChanges, type SyncChange } from './changes.ts';
import { conflictLabel } from './conflict-path.ts';
import type { LocalDirectory, LocalTree } from './local-directory.ts';
import {
  type BaseFile,
  filesToMerge,
  type PlannedFile,
  pairFiles,
  planFiles,
  type Side,
  sameContent,
} from './plan.ts';
import type { RemoteMemory, RemoteTree } from './remote-memory.ts';
import type { SyncState } from './sync-state.ts';

/** The two sides, and the base between them. */
export interface Sides {
  local: LocalDirectory;
  remote: RemoteMemory;
  state: SyncState;
}

export interface SyncOptions {
  /** This device's name in the names of conflict files. */
  device: string;
  dryRun: boolean;
  /** Whether all files on a side may be deleted. */
  allowEmpty: boolean;
  isCaseInsensitive: boolean;
  /** Reports each change after it was made, or in a dry run each planned change. */
  onChange(change: SyncChange): void;
}

export interface SyncResult {
  /** Notes about files or names, for example why a file was skipped. */
  notes: Map<string, string>;
  /** Reasons why the memory rejected files. */
  rejected: Map<MemoryPath, string>;
  /** Files that changed during the synchronization, or whose path is blocked. */
  unfinished: MemoryPath[];
  /** When the memory last changed before the synchronization. */
  changedAt: string | null;
}

/** Errors about a file that has changed since it was listed, or whose path is occupied. */
const CHANGED: ReadonlySet<ErrorReason> = new Set([
  'changed_since_read',
  'destination_exists',
  'directory_not_recursive',
  'is_directory',
  'move_inside_itself',
  'no_file_to_replace',
  'not_a_directory',
  'nothing_at',
  'path_exists',
]);
/** Errors that concern one file. */
const REJECTED: ReadonlySet<ErrorReason> = new Set([
  'body_too_large',
  'content_has_nul',
  'file_too_large',
  'path_too_long',
  'quota_exceeded',
  'secret_in_path',
  'secrets_in_content',
]);

/** Maximum passes while files change. */
const MAX_PASSES = 4;
/** Maximum concurrent requests. */
const MAX_REQUESTS = 8;

/** Synchronizes both sides, in several passes if files change during the synchronization. */
export async function synchronize(sides: Sides, options: SyncOptions): Promise<SyncResult> {
  const notes = new Map<string, string>();
  for (let pass = 1; ; pass++) {
    const result = await new SyncPass(sides, options, notes).run();
    // A pass after new files were created learns their IDs, so that a later rename is recognized.
    const isComplete = [...sides.state.files.values()].every(({ memoryId }) => memoryId !== null);
    if ((isComplete && result.unfinished.length === 0) || options.dryRun || pass === MAX_PASSES)
      return result;
  }
}

class SyncPass {
  readonly #sides: Sides;
  readonly #options: SyncOptions;
  readonly #result: SyncResult;
  readonly #bases: Map<MemoryPath, BaseFile>;
  /** Planned files by their paths in the local directory. */
  readonly #drafts = new Map<MemoryPath, PlannedFile>();
  /**
   * Content hashes that the memory has after the synchronization, in a file or in a merged text, or that were copied.
   * Only local files with such contents, and local files that equal their base, are replaced or deleted.
   */
  readonly #preserved = new Set<string>();
  /** IDs of files with merged lines. */
  readonly #merged = new Set<string>();
  /** Local files that equal their base. */
  readonly #unchanged = new Set<MemoryPath>();
  #localHashes = new Map<MemoryPath, string>();
  readonly #targets = new Set<MemoryPath>();
  /** Content hashes after the memory masked secrets. */
  readonly #masked = new Map<PlannedFile, string>();
  /** Entries that this pass has added to the base. */
  readonly #recorded = new Map<PlannedFile, BaseFile>();

  /** @param notes receives the pass's notes */
  constructor(sides: Sides, options: SyncOptions, notes: Map<string, string>) {
    this.#sides = sides;
    this.#result = { notes, rejected: new Map(), unfinished: [], changedAt: null };
    this.#options = options;
    this.#bases = new Map(sides.state.files);
  }

  async run(): Promise<SyncResult> {
    const { local, remote } = this.#sides;
    const tree = await local.scan();
    const listed = await remote.list();
    this.#result.changedAt = listed.changedAt;
    this.#checkNotEmptied(tree, listed);
    if (!this.#options.dryRun) await this.#adoptIds(listed);
    const planned = await this.#plan(tree, listed);
    if (this.#options.dryRun) {
      for (const file of planned) this.#report([...memoryChanges(file), ...localChanges(file)]);
      return this.#result;
    }
    this.#localHashes = new Map(Array.from(tree.files.values(), ({ path, sha256 }) => [path, sha256]));
    await this.#apply(planned);
    await this.#sides.state.deleteUnusedContents();
    return this.#result;
  }

  /** @throws OperatorError if a side has lost all its files, for example because a disk is not mounted */
  #checkNotEmptied({ files, skipped }: LocalTree, listed: RemoteTree): void {
    const { root } = this.#sides.local;
    if (this.#options.allowEmpty || this.#bases.size === 0) return;
    const lost = `had ${amount(this.#bases.size, 'file')} after the last synchronization and has none now. To delete the files on the other side too, add --allow-empty.`;
    if (files.size === 0 && skipped.size === 0) throw new OperatorError(`The directory ${root} ${lost}`);
    if (listed.files.length === 0) throw new OperatorError(`The memory ${lost}`);
  }

  /** Adds the IDs to the base for files that the last pass created. */
  async #adoptIds({ files }: RemoteTree): Promise<void> {
    for (const { path, memoryId, sha256 } of files) {
      const base = this.#bases.get(path);
      if (base?.memoryId !== null || base.sha256 !== sha256) continue;
      const identified = { ...base, memoryId };
      this.#bases.set(path, identified);
      await this.#sides.state.replace(base, identified);
    }
  }

  async #plan(tree: LocalTree, listed: RemoteTree): Promise<PlannedFile[]> {
    const isIncluded = await this.#filter(tree, listed);
    const selectIncluded = <File extends { path: MemoryPath }>(files: Iterable<File>) =>
      [...files].filter(({ path }) => isIncluded(path));
    const pairs = pairFiles(
      selectIncluded(this.#bases.values()),
      selectIncluded(tree.files.values()),
      selectIncluded(listed.files),
    );
    const texts = await this.#mergeTexts(pairs);
    const label = (path: MemoryPath) =>
      conflictLabel(this.#options.device, tree.files.get(path)?.modifiedAt ?? new Date());
    const unfinished = new Set(this.#result.unfinished);
    const files = pairs.filter(({ draft }) => draft === null || !unfinished.has(draft.path));
    for (const [id, text] of texts) if (text !== null) this.#merged.add(id);
    const planned = planFiles(files, texts, label);
    for (const { base, draft, original, target } of planned) {
      if (target !== null) this.#targets.add(target.path);
      if (original !== null && original.versionId === target?.sha256) this.#preserved.add(target.sha256);
      if (base !== null && draft !== null && sameContent(base, draft)) this.#unchanged.add(draft.path);
    }
    return planned.filter((file) => !this.#isComplete(file));
  }

  /** Returns a function that selects the paths to synchronize, and notes the reasons for skipped files. */
  async #filter(tree: LocalTree, listed: RemoteTree): Promise<(path: MemoryPath) => boolean> {
    const { notes } = this.#result;
    for (const [path, reason] of [...tree.skipped, ...tree.invalidNames])
      notes.set(path, `skipped, because ${reason}`);
    const remotePaths = listed.files.map(({ path }) => path).filter((path) => !tree.isIgnored(path, 'file'));
    const variants = this.#options.isCaseInsensitive
      ? findCaseVariants(remotePaths, (path) => tree.files.has(path))
      : new Set<MemoryPath>();
    for (const path of variants)
      notes.set(path, 'skipped, because another file has the same name in another case');
    // In an inconsistent list, a file that was renamed meanwhile may be missing.
    const ids = new Set(listed.files.flatMap(({ path, memoryId }) => [path, memoryId]));
    const isUnsure = ({ path, memoryId }: BaseFile) =>
      !listed.isConsistent && !ids.has(path) && !ids.has(memoryId ?? path);
    const unsure = new Set([...this.#bases.values()].filter(isUnsure).map(({ path }) => path));
    for (const base of this.#bases.values()) {
      if (!tree.isIgnored(base.path, 'file')) continue;
      // If the rules change again, the file is compared anew.
      this.#bases.delete(base.path);
      if (!this.#options.dryRun) await this.#sides.state.replace(base, null);
    }
    return (path) =>
      !variants.has(path) &&
      !unsure.has(path) &&
      !tree.isIgnored(path, 'file') &&
      ![path, ...ancestorPaths(path)].some((above) => tree.skipped.has(above));
  }

  /** Merges the lines of files that changed on both sides. Files that change meanwhile are unfinished. */
  async #mergeTexts(pairs: readonly ThreeWay<Side>[]): Promise<Map<string, string | null>> {
    const { state } = this.#sides;
    const texts = new Map<string, ThreeTexts>();
    for (const { id, base, draft, original } of filesToMerge(pairs)) {
      if (base === null || draft === null || original === null) continue;
      const baseText = await state.readContent(base.versionId);
      const draftText = await this.#content(draft.versionId, { local: draft.path });
      const originalText = await this.#content(original.versionId, { remote: original.path });
      if (draftText === undefined || originalText === undefined) this.#result.unfinished.push(draft.path);
      // Without the base, the lines count as a conflict.
      else if (baseText !== undefined)
        texts.set(id, { base: baseText, draft: draftText, original: originalText });
    }
    const merged = new Map<string, string | null>();
    const threads = new MergeThreads();
    try {
      for await (const [id, text] of threads.mergeAll(texts)) {
        merged.set(id, text);
        if (text !== null) await state.storeContent(text);
      }
    } finally {
      await threads.close();
    }
    return merged;
  }

  /** Whether both sides and the base have a file's target. */
  #isComplete({ base, draft, original, target }: PlannedFile): boolean {
    if (target === null) return base === null && draft === null && original === null;
    const isTarget = (side: Side | null) => side?.path === target.path && side.versionId === target.sha256;
    return isTarget(base) && isTarget(draft) && isTarget(original) && base?.memoryId === original?.memoryId;
  }

  async #apply(planned: readonly PlannedFile[]): Promise<void> {
    for (const file of planned) if (file.draft !== null) this.#drafts.set(file.draft.path, file);
    const isCopy = ({ copyOf }: PlannedFile) => copyOf !== undefined;
    // Local copies come first, so that the memory's contents can replace the originals.
    const uncopied = await this.#repeat(planned.filter(isCopy), (file) => this.#copy(file), localChanges);
    const active = planned.filter((file) => !uncopied.has(file));
    await this.#repeat(
      active.filter(isRead),
      (file) => this.#readOriginal(file),
      () => [],
      MAX_REQUESTS,
    );
    const isNew = ({ base, original }: PlannedFile) => base === null && original === null;
    const isMoved = ({ original, target }: PlannedFile) => target !== null && original?.path !== target.path;
    const [created, changed] = [active.filter(isNew), active.filter((file) => !isNew(file))];
    // Deletions come first, because they may make way for other files, and moves come before edits at the new paths.
    const ordered = [
      ...changed.filter(({ target }) => target === null),
      ...changed.filter(isMoved),
      ...changed.filter((file) => file.target !== null && !isMoved(file)),
    ];
    const changeMemory = async (file: PlannedFile) => {
      const outcome = await this.#changeMemory(file);
      if (outcome === 'done' && file.draft !== null && this.#merged.has(file.id))
        this.#preserved.add(file.draft.versionId);
      return outcome;
    };
    const failed = new Set([
      ...(await this.#repeat(ordered, changeMemory, memoryChanges)),
      ...(await this.#repeat(created, changeMemory, memoryChanges, MAX_REQUESTS)),
    ]);
    // The memory changes first, so that it contains the contents of the files that are replaced or deleted locally.
    await this.#repeat(
      active.filter((file) => !failed.has(file)),
      (file) => this.#changeLocal(file),
      (file) => (isCopy(file) ? [] : localChanges(file)),
    );
  }

  /**
   * Applies a step to files, and reports the changes in order. Files that another file blocks are repeated until none
   * of them succeeds.
   *
   * @returns the files for which the step did not succeed
   */
  async #repeat(
    files: readonly PlannedFile[],
    step: (file: PlannedFile) => Promise<'done' | 'blocked' | 'rejected'>,
    getChanges: (file: PlannedFile) => SyncChange[],
    concurrency = 1,
  ): Promise<Set<PlannedFile>> {
    const failed = new Set<PlannedFile>();
    let blocked = files;
    for (let before = Infinity; blocked.length > 0 && blocked.length < before; ) {
      before = blocked.length;
      const again: PlannedFile[] = [];
      for (let from = 0; from < blocked.length; from += concurrency) {
        const files = blocked.slice(from, from + concurrency);
        const outcomes = await Promise.all(files.map(step));
        for (const file of files.filter((_, i) => outcomes[i] === 'done')) this.#report(getChanges(file));
        again.push(...files.filter((_, i) => outcomes[i] === 'blocked'));
        for (const file of files.filter((_, i) => outcomes[i] === 'rejected')) failed.add(file);
      }
      blocked = again;
    }
    for (const file of blocked) {
      failed.add(file);
      const path = file.target?.path ?? file.draft?.path ?? file.original?.path;
      if (path !== undefined) this.#result.unfinished.push(path);
    }
    return failed;
  }

  /** Copies a local content that the memory's content will replace. */
  async #copy({ target, copyOf }: PlannedFile): Promise<'done' | 'blocked'> {
    if (target === null || copyOf === undefined) return 'done';
    const { path, sha256 } = target;
    const text = await this.#content(sha256, { local: copyOf });
    const before = this.#localHashes.get(path) ?? null;
    if (text === undefined || (before !== null && before !== sha256)) return 'blocked';
    if (before === null && !(await this.#sides.local.write(path, text, null))) return 'blocked';
    this.#localHashes.set(path, sha256);
    this.#preserved.add(sha256);
    return 'done';
  }

  /** Reads a content from the memory into the base. */
  async #readOriginal({ original }: PlannedFile): Promise<'done'> {
    if (original !== null) await this.#content(original.versionId, { remote: original.path });
    return 'done';
  }

  async #changeMemory(file: PlannedFile): Promise<'done' | 'blocked' | 'rejected'> {
    if (memoryChanges(file).length === 0) return 'done';
    const { base, draft, original, target } = file;
    // An editor may have replaced the file by deleting and creating it.
    if (draft === null && base !== null && target === null && (await this.#sides.local.exists(base.path)))
      return 'blocked';
    try {
      if (target === null) await this.#deleteInMemory(file);
      else if (!(await this.#writeToMemory(file, target))) return 'blocked';
    } catch (error) {
      if (!(error instanceof ServiceError)) throw error;
      if (CHANGED.has(error.reason)) return 'blocked';
      if (!REJECTED.has(error.reason)) throw error;
      if (target !== null) this.#result.rejected.set(target.path, explain(error));
      return 'rejected';
    }
    if (target === null) return 'done';
    this.#preserved.add(target.sha256);
    if (original === null || draft === null || base === null || this.#masked.has(file)) return 'done';
    // Until the local file has the target, the base is the local content that the memory now includes.
    await this.#setBase(file, { path: draft.path, memoryId: original.memoryId, sha256: draft.versionId });
    return 'done';
  }

  /**
   * Deletes a file in the memory, and first in the base. After a kill in between, the file only comes back. In the other
   * order, a file that the user has moved back meanwhile would look as if another device had deleted it.
   */
  async #deleteInMemory(file: PlannedFile): Promise<void> {
    const { base, original } = file;
    const before = base && (this.#bases.get(base.path) ?? null);
    await this.#setBase(file, null);
    try {
      await this.#sides.remote.delete(original?.path as MemoryPath, original?.versionId ?? '');
    } catch (error) {
      if (error instanceof ServiceError) await this.#setBase(file, before);
      throw error;
    }
  }

  async #writeToMemory(file: PlannedFile, { path, sha256 }: { path: MemoryPath; sha256: string }) {
    const { remote } = this.#sides;
    const { draft, original, copyOf } = file;
    let text: string | undefined;
    if (original?.versionId !== sha256) {
      text = await this.#content(sha256, { local: copyOf ?? draft?.path });
      if (text === undefined) return false;
    }
    if (original !== null && original.path !== path) await remote.move(original.path, path);
    if (text === undefined) return true;
    const written = await remote.write(path, text, original?.versionId ?? null);
    if (written === sha256) return true;
    this.#masked.set(file, written);
    await this.#content(written, { remote: path });
    this.#result.notes.set(path, 'the memory masks its secrets');
    return true;
  }

  async #changeLocal(file: PlannedFile): Promise<'done' | 'blocked'> {
    const { draft, original, target } = file;
    const steps = [() => this.#writeLocal(file), () => this.#deleteLocal(file)];
    // On a case-insensitive file system, a new name in another case is free only after the deletion.
    if (this.#options.isCaseInsensitive && draft?.path.toLowerCase() === target?.path.toLowerCase())
      steps.reverse();
    for (const step of steps) if (!(await step())) return 'blocked';
    const maskedAs = this.#masked.get(file);
    const masked = maskedAs !== undefined && { sha256: maskedAs, maskedFrom: target?.sha256 };
    const memoryId = original?.memoryId ?? null;
    await this.#setBase(file, target && { ...target, memoryId, ...masked });
    return 'done';
  }

  /** Writes a file's target. Returns false if the path is blocked, or has a content that would be lost. */
  async #writeLocal(file: PlannedFile): Promise<boolean> {
    const { draft, target, copyOf } = file;
    if (target === null) return true;
    const { path, sha256 } = target;
    const text = await this.#content(sha256, { local: copyOf ?? draft?.path, remote: path });
    const before = this.#localHashes.get(path) ?? null;
    if (text === undefined) return false;
    if (before === sha256) return true;
    if (before !== null && !this.#isReplaceable(path, before)) return false;
    const replaced = this.#drafts.get(path);
    // After a kill, the replaced file would look as if the user had changed or deleted it.
    if (replaced !== undefined && replaced !== file) await this.#setBase(replaced, null);
    if (!(await this.#sides.local.write(path, text, before))) return false;
    this.#localHashes.set(path, sha256);
    return true;
  }

  /** Deletes a file that was moved or deleted. Returns false if its content has changed or would be lost. */
  async #deleteLocal({ draft }: PlannedFile): Promise<boolean> {
    if (draft === null || this.#targets.has(draft.path)) return true;
    if (!this.#isReplaceable(draft.path, draft.versionId)) return false;
    if (!(await this.#sides.local.delete(draft.path, draft.versionId))) return false;
    this.#localHashes.delete(draft.path);
    return true;
  }

  #isReplaceable(path: MemoryPath, sha256: string): boolean {
    return this.#unchanged.has(path) || this.#preserved.has(sha256);
  }

  async #setBase(file: PlannedFile, after: BaseFile | null): Promise<void> {
    const before = this.#recorded.get(file) ?? (file.base && this.#bases.get(file.base.path));
    await this.#sides.state.replace(before ?? undefined, after);
    if (after !== null) this.#recorded.set(file, after);
  }

  /** Returns the content with a hash from the base or from one of the sides; undefined if no file has it any more. */
  async #content(
    sha256: string,
    from: { local?: MemoryPath | undefined; remote?: MemoryPath | undefined },
  ): Promise<string | undefined> {
    const { local, remote, state } = this.#sides;
    const stored = await state.readContent(sha256);
    if (stored !== undefined) return stored;
    const reads = [
      from.local && (() => local.read(from.local as MemoryPath)),
      from.remote && (() => remote.read(from.remote as MemoryPath)),
    ];
    for (const read of reads) {
      const text = read && (await read().catch(ignoreMissing));
      if (text === undefined || contentHash(text) !== sha256) continue;
      await state.storeContent(text);
      return text;
    }
    return undefined;
  }

  #report(changes: readonly SyncChange[]): void {
    for (const change of changes) this.#options.onChange(change);
  }
}

/** Whether the directory receives a content from the memory. */
function isRead({ draft, original, target }: PlannedFile): boolean {
  return original !== null && original.versionId === target?.sha256 && draft?.versionId !== target.sha256;
}

/** Returns undefined if a file does not exist any more. */
function ignoreMissing(error: unknown): undefined {
  if (error instanceof ServiceError && CHANGED.has(error.reason)) return undefined;
  if (['ENOENT', 'ENOTDIR', 'EISDIR', 'ELOOP'].includes((error as NodeJS.ErrnoException).code ?? ''))
    return undefined;
  throw error;
}
