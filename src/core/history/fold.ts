import { createHash } from 'node:crypto';
import type { QueryExecutor } from '../database/query.ts';
import { batches } from '../lib/pages.ts';
import { pauseAfterSlice } from '../lib/time-slice.ts';
import type { Actor } from '../memory/origin.ts';
import type { MemoryPath } from '../memory/path.ts';
import { History } from './history.ts';
import type { MergeThreads } from './line-merge.ts';
import {
  type FileConflict,
  type MergedFile,
  mergeFile,
  needsLines,
  type Outcome,
  takeDraft,
} from './merge-file.ts';
import type { Region } from './merge-lines.ts';
import type { PlannedFile } from './restore-plan.ts';
import type { SideFile, ThreeWay } from './three-way.ts';
import type { ActorChanges, TouchedFile, TouchedVersion } from './touched.ts';
import { type InterveningChange, readTurns } from './turns.ts';

/*
 * Computes the state that a file would have without an actor's changes. Starts with the version before the actor's
 * first change, and merges the later changes by others into this state, turn by turn. The base is the version that the
 * others changed, the draft is the state without the actor's changes, and the original is the last version by the
 * others.
 */

/** Reason why changes by others cannot be merged into the state without the actor's changes. */
export type FoldReason =
  | 'content'
  | 'path'
  | 'deleted_in_reverted'
  | 'deleted_in_current'
  | 'pruned'
  | 'redacted';

export interface FoldConflict {
  reason: FoldReason;
  /** Author and time of the changes that conflict. Null if the version before the actor's change is missing. */
  changedBy: Actor | null;
  changedAt: string | null;
}

export interface Fold {
  /**
   * State without the actor's changes; null if the file would not exist. Where changes conflict, it has the state
   * without the actor's changes. Undefined if the version before the actor's change is missing.
   */
  state: FoldedFile | null | undefined;
  conflict: FoldConflict | null;
}

/** A file with a version's content, or with merged text, which has no version. */
export interface FoldedFile extends PlannedFile {
  text: string | null;
}

const BATCH = { items: 100, weight: 4 * 1024 * 1024 };

export interface FoldContext {
  query: QueryExecutor;
  threads: MergeThreads;
  changes: ActorChanges;
}

/** Yields each file with its fold, in order. Holds the contents for one batch of turns in memory. */
export async function* foldFiles(
  context: FoldContext,
  files: readonly TouchedFile[],
): AsyncGenerator<[TouchedFile, Fold]> {
  const { query, changes, threads } = context;
  const history = new History({ query });
  const folded = files.filter(({ other }) => other !== null);
  const weigh = ({ base, last }: InterveningChange) => (base?.sizeBytes ?? 0) + (last.sizeBytes ?? 0);
  const fold = new FoldInProgress(threads, history, changes.tenant);
  let next = 0;
  for await (const turns of batches(readTurns(query, changes, folded), { ...BATCH, weigh })) {
    await fold.read(turns);
    for (const turn of turns) {
      for (; files[next] !== turn.file; next++) yield* fold.end(files[next]);
      await fold.add(turn);
      await pauseAfterSlice();
    }
  }
  for (; next < files.length; next++) yield* fold.end(files[next]);
}

class FoldInProgress {
  readonly #threads: MergeThreads;
  readonly #history: History;
  readonly #tenant: string;
  #contents: ReadonlyMap<string, string> = new Map();
  #current: { file: TouchedFile; fold: Fold; isMerged: boolean } | null = null;

  constructor(threads: MergeThreads, history: History, tenant: string) {
    this.#threads = threads;
    this.#history = history;
    this.#tenant = tenant;
  }

  /** Reads the contents that a batch of turns probably needs. */
  async read(turns: readonly InterveningChange[]): Promise<void> {
    const versions = new Map<string, { memoryId: string; versionId: string }>();
    for (const { file, base, last } of turns) {
      if (base === null || base.sha256 === last.sha256 || base.sha256 === file.before?.sha256) continue;
      for (const version of [file.before, base, last]) {
        if (!version?.sha256) continue;
        versions.set(version.versionId, { memoryId: file.memoryId, versionId: version.versionId });
      }
    }
    this.#contents = await this.#history.contents(this.#tenant, [...versions.values()]);
  }

  async add(turn: InterveningChange): Promise<void> {
    const current = this.#foldFor(turn.file);
    current.fold = await this.#foldTurn(turn, current.fold);
    current.isMerged = true;
  }

  *end(file: TouchedFile | undefined): Generator<[TouchedFile, Fold]> {
    if (file === undefined) return;
    const { fold, isMerged } = this.#foldFor(file);
    this.#current = null;
    yield [
      file,
      isMerged || file.other === null ? fold : { state: undefined, conflict: missingState('pruned') },
    ];
  }

  #foldFor(file: TouchedFile) {
    if (this.#current?.file !== file) this.#current = { file, fold: initialFold(file), isMerged: false };
    return this.#current;
  }

  async #foldTurn(
    { file, base, last, changedBy, changedAt, isResolved }: InterveningChange,
    fold: Fold,
  ): Promise<Fold> {
    const { state } = fold;
    const resolved = isResolved ? stateAfter(last) : 'redacted';
    if (resolved !== 'redacted') return { state: resolved, conflict: null };
    if (state === undefined) return fold;
    const conflictingFold = (reason: FoldReason, left = state): Fold => ({
      state: left,
      conflict: fold.conflict ?? { reason, changedBy, changedAt },
    });
    if (base === null) return conflictingFold('pruned');
    const [before, after] = [stateAfter(base), stateAfter(last)];
    if (before === 'redacted' || after === 'redacted') return conflictingFold('redacted');
    const { memoryId } = file;
    const sides: ThreeWay<Side> = {
      id: memoryId,
      base: toSide(memoryId, before),
      draft: toSide(memoryId, state),
      original: toSide(memoryId, after),
    };
    let regions: Region[] = [];
    if (needsLines(sides, sameContent)) {
      const [base, draft, original] = [
        await this.#readText(memoryId, before),
        await this.#readText(memoryId, state),
        await this.#readText(memoryId, after),
      ];
      if (base === undefined || draft === undefined || original === undefined)
        return conflictingFold('pruned');
      regions = await this.#threads.merge({ base, draft, original });
    }
    const { outcome, conflict } = mergeTurn(sides, regions);
    const merged = resolvedFile(outcome, state, after);
    return conflict === null ? { ...fold, state: merged } : conflictingFold(REASONS[conflict], merged);
  }

  async #readText(memoryId: string, state: FoldedFile | null): Promise<string | undefined> {
    if (state === null) return undefined;
    const { text, versionId } = state;
    if (text !== null || versionId === null) return text ?? undefined;
    return (
      this.#contents.get(versionId) ??
      (await this.#history.contents(this.#tenant, [{ memoryId, versionId }])).get(versionId)
    );
  }
}

const REASONS: Record<FileConflict, FoldReason> = {
  content: 'content',
  path: 'path',
  deleted_in_draft: 'deleted_in_reverted',
  deleted_in_original: 'deleted_in_current',
};

interface Side extends SideFile {
  sha256: string;
}

const sameContent = (a: Side, b: Side) => a.sha256 === b.sha256;

/**
 * Merges one turn. If the sides conflict, the result has the path and the lines without the actor's changes where both
 * sides changed the same, and the changes by both sides elsewhere.
 */
function mergeTurn(sides: ThreeWay<Side>, regions: readonly Region[]): MergedFile {
  const { id, draft, original } = sides;
  // Without regions, the lines need no merge, or the files have no common base.
  const preferred =
    regions.length === 0
      ? null
      : regions.map((region) => (region.kind === 'merged' ? region.text : region.draft)).join('');
  const hasConflict = regions.some(({ kind }) => kind === 'conflict');
  const merged = new Map([[id, hasConflict ? null : preferred]]);
  const { outcome, conflict } = mergeFile(sides, sameContent, merged);
  if (conflict === null) return { outcome, conflict };
  if (draft === null || original === null) return { outcome: takeDraft(sides, sameContent), conflict };
  const { path } = conflict === 'path' ? draft : original;
  const resolved = mergeFile(
    { ...sides, original: { ...original, path } },
    sameContent,
    new Map([[id, preferred]]),
  );
  return { outcome: resolved.conflict === null ? resolved.outcome : takeDraft(sides, sameContent), conflict };
}

function resolvedFile(
  outcome: Outcome,
  draft: FoldedFile | null,
  original: FoldedFile | null,
): FoldedFile | null {
  if (outcome === null) return null;
  const { path, content } = outcome;
  if (typeof content !== 'string') return fileWithText(path, content.text);
  const side = content === 'keep' ? original : draft;
  if (side === null) throw new Error('A merge keeps a side that does not exist.');
  return { ...side, path };
}

export function fileWithText(path: MemoryPath, text: string): FoldedFile {
  const sha256 = createHash('sha256').update(text).digest('hex');
  return { path, versionId: null, sha256, sizeBytes: Buffer.byteLength(text), text };
}

function toSide(memoryId: string, state: FoldedFile | null): Side | null {
  if (state === null) return null;
  const { path, versionId, sha256, sizeBytes } = state;
  return { memoryId, versionId: versionId ?? sha256, path, sizeBytes, sha256 };
}

/** Returns a file's state before the actor's first change. */
function initialFold({ before, firstOperation }: TouchedFile): Fold {
  if (before === null && firstOperation !== 'created')
    return { state: undefined, conflict: missingState('pruned') };
  const state = before === null ? null : stateAfter(before);
  return state === 'redacted'
    ? { state: undefined, conflict: missingState('redacted') }
    : { state, conflict: null };
}

const missingState = (reason: FoldReason): FoldConflict => ({ reason, changedBy: null, changedAt: null });

/** Returns a file's state after a version; null after a deletion. */
function stateAfter(version: TouchedVersion): FoldedFile | null | 'redacted' {
  return version.operation === 'deleted' ? null : (toFoldedFile(version) ?? 'redacted');
}

/** Returns null for a version without content. */
export function toFoldedFile({ path, versionId, sha256, sizeBytes }: TouchedVersion): FoldedFile | null {
  if (path === null || sha256 === null || sizeBytes === null) return null;
  return { path, versionId, sha256, sizeBytes, text: null };
}
