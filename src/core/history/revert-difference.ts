import type { Database } from '../database/database.ts';
import { ServiceError } from '../errors/errors.ts';
import { changeTenant } from './apply.ts';
import { type Fold, toFoldedFile } from './fold.ts';
import { Folds } from './folds.ts';
import { History } from './history.ts';
import type { MergeThreads } from './line-merge.ts';
import type { LoadedState } from './log.ts';
import { type RevertSelection, readSelection } from './revert.ts';
import { findTouchedFile, type TouchedFile } from './touched.ts';

/** A file in a revert: its current state, and its state without the actor's changes. */
export interface RevertedFile {
  memoryId: string;
  currentVersion: string | null;
  /** Null for a merged text. */
  revertedVersion: string | null;
  current: LoadedState;
  reverted: LoadedState;
}

/**
 * Reads one file's states before and after a revert. Where changes conflict, the reverted state has the text without
 * the actor's changes.
 *
 * @throws ServiceError if the history is incomplete since that time, or the actor has not changed the file
 */
export async function readRevertedFile(
  database: Database,
  threads: MergeThreads,
  { tenant, memoryId, ...selection }: RevertSelection & { tenant: string; memoryId: string },
): Promise<RevertedFile> {
  const { changes, file } = await changeTenant(database, tenant, { dryRun: true }, async (query) => {
    const { changes } = await readSelection(query, tenant, selection);
    return { changes, file: await findTouchedFile(query, changes, memoryId) };
  });
  if (file === undefined) throw new ServiceError('revert_file_unknown', memoryId);
  const folds = new Folds(threads, changes);
  const fold = await folds.readOne(database.query, file);
  const history = new History(database);
  const versions = [file.head?.versionId, fold.state?.versionId].flatMap((versionId) =>
    versionId == null ? [] : [{ memoryId, versionId }],
  );
  const contents = await history.contents(tenant, versions);
  return {
    memoryId,
    currentVersion: file.head?.versionId ?? null,
    revertedVersion: fold.state?.versionId ?? null,
    current: currentState(file, contents),
    reverted: revertedState(fold, contents),
  };
}

function currentState({ head }: TouchedFile, contents: ReadonlyMap<string, string>): LoadedState {
  const file = head && toFoldedFile(head);
  return file === null ? { kind: 'absent' } : toLoadedState(file.path, contents.get(file.versionId ?? ''));
}

function revertedState({ state, conflict }: Fold, contents: ReadonlyMap<string, string>): LoadedState {
  if (state === undefined) return { kind: conflict?.reason === 'redacted' ? 'redacted' : 'pruned' };
  if (state === null) return { kind: 'absent' };
  return toLoadedState(state.path, state.text ?? contents.get(state.versionId ?? ''));
}

function toLoadedState(path: string, content: string | undefined): LoadedState {
  return content === undefined ? { kind: 'pruned' } : { kind: 'file', path, content };
}
