import { batches } from '../util/batches.ts';
import type { History } from './history.ts';
import type { Operation } from './queries.ts';
import type { Version } from './version.ts';

/** A file on one side of a change. */
export type FileState =
  | { kind: 'absent' }
  | { kind: 'file'; path: string; memoryId: string; versionId: string; sizeBytes: number }
  /** There was a file, and the version was redacted. */
  | { kind: 'redacted' }
  /** There was a file, and the version is no longer kept. */
  | { kind: 'pruned' };

/** A file on one side of a change, with its content. */
export type LoadedState =
  | Exclude<FileState, { kind: 'file' }>
  | { kind: 'file'; path: string; content: string };

export interface Change {
  before: FileState;
  after: FileState;
}

const BATCH = { items: 100, weight: 4 * 1024 * 1024 };
export const ABSENT = { kind: 'absent' } as const;

/** The file as a version left it. */
export function stateOf(version: {
  id: string;
  memoryId: string;
  operation: Operation;
  path: string | null;
  sizeBytes: number | null;
}): FileState {
  const { id, memoryId, operation, path, sizeBytes } = version;
  if (operation === 'deleted') return ABSENT;
  if (path === null) return { kind: 'redacted' };
  return { kind: 'file', path, memoryId, versionId: id, sizeBytes: sizeBytes ?? 0 };
}

export function stateOfVersion(version: Version): FileState {
  return stateOf({ ...version, sizeBytes: version.contentSizeBytes });
}

/** Reads the contents of changes, a batch at a time. */
export async function* withContents<T extends Change>(
  history: History,
  tenant: string,
  changes: AsyncIterable<T>,
): AsyncGenerator<{ change: T; before: LoadedState; after: LoadedState }> {
  const weightOf = ({ before, after }: T) => sizeOf(before) + sizeOf(after);
  for await (const batch of batches(changes, { ...BATCH, weightOf })) {
    const states = batch.flatMap(({ before, after }) => [before, after]);
    const files = states.filter((state) => state.kind === 'file');
    const contents = await history.contents(tenant, files);
    for (const change of batch) {
      yield { change, before: loaded(change.before, contents), after: loaded(change.after, contents) };
    }
  }
}

function sizeOf(state: FileState): number {
  return state.kind === 'file' ? state.sizeBytes : 0;
}

function loaded(state: FileState, contents: ReadonlyMap<string, string>): LoadedState {
  if (state.kind !== 'file') return state;
  const content = contents.get(state.versionId);
  // The version was pruned or redacted since its row was read.
  return content === undefined ? { kind: 'pruned' } : { kind: 'file', path: state.path, content };
}
