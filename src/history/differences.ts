import type { FileDiff } from './diff.ts';
import type { LoadedState } from './file-state.ts';
import { type Comparison, reasonOf } from './patch.ts';

/** A change of a file as a patch. */
export interface Difference {
  /** Null where there is no file, or it is not known. */
  oldPath: string | null;
  path: string | null;
  oldVersion: string | null;
  version: string | null;
  /** Empty when the file is as it was. Null when there is nothing to compare with, or it takes too much; `noPatchReason` says why. */
  patch: string | null;
  noPatchReason: string | null;
  /** What it cost to compare. */
  work: number;
}

/** `compare`, in this thread or in another one. */
export type Compare = (before: LoadedState, after: LoadedState) => Comparison | Promise<Comparison>;

/** A change whose contents are read. */
export interface LoadedDiff {
  change: FileDiff;
  before: LoadedState;
  after: LoadedState;
}

export async function differenceOf(
  { change, before, after }: LoadedDiff,
  compare: Compare,
): Promise<Difference> {
  const { patch, work } = await compare(before, after);
  return {
    ...{ oldPath: pathOf(before), path: pathOf(after) },
    ...{ oldVersion: change.oldVersion, version: change.newVersion },
    patch: patch ?? null,
    noPatchReason: patch === undefined ? reasonOf(before, after) : null,
    work,
  };
}

function pathOf(state: LoadedState): string | null {
  return state.kind === 'file' ? state.path : null;
}
