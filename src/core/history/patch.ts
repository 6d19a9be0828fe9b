import { formatPatch, type StructuredPatchHunk, structuredPatch } from 'diff';
import { ServiceError } from '../errors/errors.ts';
import { areShort } from '../lib/short-texts.ts';
import { WorkerThreads } from '../lib/worker-threads.ts';
import type { FileDiff } from './diff.ts';
import type { LoadedState } from './log.ts';

/**
 * Maximum number of added and removed lines. The time to find the smallest diff grows quadratically with this number.
 */
const MAX_EDITS = 1000;
/**
 * Maximum work for one diff, in comparisons between lines with `WORK_CHARACTERS` characters each. The edit count alone
 * does not bound the work, because all lines may be compared between two edits. Unlike a time limit, this limit makes
 * diffs reproducible.
 */
export const MAX_WORK = 10_000_000;
const WORK_CHARACTERS = 32;
const CONTEXT = 3;
const NOWHERE = '/dev/null';

export interface Comparison {
  /**
   * The change in the `git diff` format, byte for byte, for `git apply` and `patch -p1` in an export's root. Empty if
   * the file is unchanged; undefined if the states cannot be compared.
   */
  patch: string | undefined;
  /** Work spent: at most `MAX_WORK`, plus the work to read the texts. */
  work: number;
}

/**
 * Compares two states of a file. A comparison that exceeds the limits on edits or work removes all old lines and adds
 * all new lines.
 */
export function compare(before: LoadedState, after: LoadedState): Comparison {
  const budget = new WorkBudget();
  const patch = buildPatch(before, after, budget);
  return { patch, work: budget.spent };
}

function buildPatch(before: LoadedState, after: LoadedState, budget: WorkBudget): string | undefined {
  if (!isComparable(before) || !isComparable(after)) return undefined;
  const [old, now] = [stateContent(before), stateContent(after)];
  const isCreate = before.kind === 'absent';
  const isDelete = after.kind === 'absent';
  if (isCreate && isDelete) return '';
  const isRename = !isCreate && !isDelete && before.path !== after.path;
  if (!isCreate && !isDelete && before.path === after.path && old === now) return '';
  return formatPatch({
    oldFileName: isCreate ? NOWHERE : `a${before.path}`,
    newFileName: isDelete ? NOWHERE : `b${after.path}`,
    oldHeader: undefined,
    newHeader: undefined,
    hunks: findHunks(old, now, budget),
    isGit: true,
    isCreate,
    isDelete,
    isRename,
  });
}

/** Explains the missing patch between two states. */
export function missingPatchReason(before: LoadedState, after: LoadedState): string {
  if (after.kind === 'redacted') return 'this version was redacted';
  if (after.kind === 'pruned') return 'this version is no longer kept';
  if (before.kind === 'redacted') return 'the version before was redacted';
  if (before.kind === 'pruned') return 'the version before is no longer kept';
  return 'they are too large to compare';
}

type Comparable = Extract<LoadedState, { kind: 'file' | 'absent' }>;

const isComparable = (state: LoadedState): state is Comparable =>
  state.kind === 'file' || state.kind === 'absent';

const stateContent = (state: Comparable) => (state.kind === 'file' ? state.content : '');

function findHunks(old: string, now: string, budget: WorkBudget): StructuredPatchHunk[] {
  if (old === now) return [];
  budget.spend(old.length + now.length);
  if (old === '' || now === '') return [replacement(old, now)];
  const comparator = (left: string, right: string) => {
    budget.spend(left.length);
    if (budget.spent > MAX_WORK) throw new TooDifferent();
    return left === right;
  };
  const options = { context: CONTEXT, maxEditLength: MAX_EDITS, comparator };
  try {
    const patch = structuredPatch('', '', old, now, undefined, undefined, options);
    return patch?.hunks ?? [replacement(old, now)];
  } catch (error) {
    if (error instanceof TooDifferent) return [replacement(old, now)];
    throw error;
  }
}

class TooDifferent extends Error {}

class WorkBudget {
  spent = 0;

  /** Adds the work to read the given number of characters. */
  spend(characters: number): void {
    this.spent += 1 + Math.floor(characters / WORK_CHARACTERS);
  }
}

/** Creates a hunk that removes all old lines and adds all new lines. */
function replacement(old: string, now: string): StructuredPatchHunk {
  const removed = splitIntoLines(old);
  const added = splitIntoLines(now);
  return {
    oldStart: 1,
    oldLines: removed.length,
    newStart: 1,
    newLines: added.length,
    lines: [...prefixLines('-', removed, old), ...prefixLines('+', added, now)],
  };
}

function splitIntoLines(text: string): string[] {
  const lines = text.split('\n');
  if (lines.at(-1) === '') lines.pop();
  return lines;
}

function prefixLines(sign: string, lines: string[], text: string): string[] {
  const marked = lines.map((line) => sign + line);
  if (text !== '' && !text.endsWith('\n')) marked.push('\\ No newline at end of file');
  return marked;
}

export interface Difference {
  /** Null if no file exists, or the path is unknown. */
  oldPath: string | null;
  path: string | null;
  oldVersion: string | null;
  version: string | null;
  /** Empty if the file is unchanged. Null if the states cannot be compared; `noPatchReason` explains the reason. */
  patch: string | null;
  noPatchReason: string | null;
  /** Work spent on the comparison, in the same unit as `MAX_WORK`. */
  work: number;
}

/** `compare` in the current thread or in a worker thread. */
export type Compare = (before: LoadedState, after: LoadedState) => Comparison | Promise<Comparison>;

export interface LoadedDiff {
  change: FileDiff;
  before: LoadedState;
  after: LoadedState;
}

export async function findDifference(
  { change, before, after }: LoadedDiff,
  compare: Compare,
): Promise<Difference> {
  const { patch, work } = await compare(before, after);
  return {
    oldPath: statePath(before),
    path: statePath(after),
    oldVersion: change.oldVersion,
    version: change.newVersion,
    patch: patch ?? null,
    noPatchReason: patch === undefined ? missingPatchReason(before, after) : null,
    work,
  };
}

function statePath(state: LoadedState): string | null {
  return state.kind === 'file' ? state.path : null;
}

/**
 * Limits for one comparison in a thread. Texts within the default limits use far less; only texts of many megabytes
 * approach them.
 */
const MAX_MS = 20_000;
const MAX_HEAP_MIB = 512;

const TOO_MUCH: Comparison = { patch: undefined, work: MAX_WORK };

/** Compares short texts on the event loop, and all others in a worker thread. */
export class PatchThreads {
  /** One thread for each caller, so that a caller's long comparisons do not delay other callers. */
  readonly #threads = new WorkerThreads<{ before: LoadedState; after: LoadedState }, Comparison>({
    module: new URL('./patch', import.meta.url),
    threads: 2,
    perCaller: 1,
    idleMs: 30_000,
    maxHeapMiB: MAX_HEAP_MIB,
  });

  /**
   * @param caller the caller whose share of the threads the comparison uses
   * @param signal aborts the comparison after the client has disconnected
   * @returns no patch if the comparison exceeds its time or memory limit
   */
  async compare(
    before: LoadedState,
    after: LoadedState,
    caller: string,
    signal: AbortSignal,
  ): Promise<Comparison> {
    const sides = [before, after].filter(isComparable).map(stateContent);
    if (areShort([sides])) return compare(before, after);
    try {
      const compared = await this.#threads.runWithin(MAX_MS, { before, after }, caller, signal);
      return compared === 'out_of_memory' || compared === 'out_of_time' ? TOO_MUCH : compared;
    } catch (error) {
      if (signal.aborted) throw new ServiceError('client_gone');
      throw error;
    }
  }

  close(): Promise<void> {
    return this.#threads.close();
  }
}

/** The worker thread's entry point. */
export default function work({ before, after }: { before: LoadedState; after: LoadedState }): Comparison {
  return compare(before, after);
}
