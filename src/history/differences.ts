import type { FileDiff } from './diff.ts';
import { type LoadedState, withContents } from './file-state.ts';
import type { History } from './history.ts';
import { patchOf, reasonOf } from './patch.ts';

/** A change of a file as a patch. */
export interface Difference {
  /** Null where there is no file, or it is not known. */
  oldPath: string | null;
  path: string | null;
  oldVersion: string | null;
  version: string | null;
  /** Null when one side is not there to compare with; `noPatchReason` says why. */
  patch: string | null;
  noPatchReason: string | null;
}

/** Reads the contents of changes, and compares them. Changes that leave a file as it is are left out. */
export async function* differences(
  history: History,
  tenant: string,
  changes: AsyncIterable<FileDiff>,
): AsyncGenerator<Difference> {
  for await (const { change, before, after } of withContents(history, tenant, changes)) {
    const patch = patchOf(before, after);
    if (patch === '') continue;
    yield {
      ...{ oldPath: pathOf(before), path: pathOf(after) },
      ...{ oldVersion: change.oldVersion, version: change.newVersion },
      patch: patch ?? null,
      noPatchReason: patch === undefined ? reasonOf(before, after) : null,
    };
  }
}

function pathOf(state: LoadedState): string | null {
  return state.kind === 'file' ? state.path : null;
}
