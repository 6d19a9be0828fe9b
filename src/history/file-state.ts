import { batches } from '../util/batches.ts';
import type { History } from './history.ts';
import type { Version } from './version.ts';

/** A file on one side of a change. */
export type FileState =
  | { kind: 'absent' }
  | { kind: 'file'; path: string; contentId: string; sizeBytes: number }
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
  operation: 'created' | 'modified' | 'deleted';
  path: string | null;
  contentId: string | null;
  sizeBytes: number | null;
}): FileState {
  const { operation, path, contentId, sizeBytes } = version;
  if (operation === 'deleted') return ABSENT;
  if (path === null || contentId === null) return { kind: 'redacted' };
  return { kind: 'file', path, contentId, sizeBytes: sizeBytes ?? 0 };
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
    const ids = states.flatMap((state) => (state.kind === 'file' ? [state.contentId] : []));
    const contents = ids.length === 0 ? new Map() : await history.contents(tenant, [...new Set(ids)]);
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
  const content = contents.get(state.contentId);
  // The version was pruned or redacted since its row was read.
  return content === undefined ? { kind: 'pruned' } : { kind: 'file', path: state.path, content };
}
