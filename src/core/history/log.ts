import { defineQuery } from '../database/query.ts';
import { batches } from '../lib/pages.ts';
import { timeSliced, timeSlicedSort } from '../lib/time-slice.ts';
import { amount } from '../lib/units.ts';
import { type MemoryPath, ROOT } from '../memory/path.ts';
import type { History, VersionFilter } from './history.ts';
import type { RestoreTarget } from './restore-plan.ts';
import type { Operation, Version } from './version.ts';

/** A change to one file by `restore` or `revert`. */
export type FileChange = {
  memoryId: string;
  path: MemoryPath;
  /** The file's current version before the change; null if the file is added. */
  oldVersion: string | null;
  /** Version that the file is restored to; null if the file is deleted, or gets a text that no version has. */
  version: string | null;
  /** SHA-256 of a text that no version has, hexadecimal. */
  mergedSha256: string | null;
} & (
  | { change: 'added' | 'modified' | 'deleted' }
  | { change: 'renamed'; from: MemoryPath; contentChanged: boolean }
);

export interface PlannedChanges {
  files: FileChange[];
  directoriesMade: MemoryPath[];
  directoriesRemoved: MemoryPath[];
}

/** Applied or planned changes, ordered by path. */
export interface Changes extends PlannedChanges {
  /** Fingerprint for the changes. It differs if the affected files have changed in the meantime. */
  plan: string;
  /** Time shared by all versions in the change; null if the memory was not changed. */
  changedAt: string | null;
  /** Paths of changed files that will contain a text that is kept out. */
  keptOut: MemoryPath[];
}

/** Converts targets to file changes, ordered by path. */
export async function toFileChanges(targets: readonly RestoreTarget[]): Promise<FileChange[]> {
  const changes: FileChange[] = [];
  for await (const target of timeSliced(targets)) changes.push(...targetChanges(target));
  return timeSlicedSort(changes, byPath);
}

/** Orders changes by path, and changes at one path by kind, with `added` first. */
const byPath = (a: FileChange, b: FileChange) =>
  a.path === b.path ? (a.change < b.change ? -1 : 1) : a.path < b.path ? -1 : 1;

function targetChanges({ memoryId, from, to }: RestoreTarget): FileChange[] {
  const versions = {
    oldVersion: from?.versionId ?? null,
    version: to?.versionId ?? null,
    mergedSha256: to !== null && to.versionId === null ? to.sha256 : null,
  };
  if (to === null)
    return from === null ? [] : [{ change: 'deleted', memoryId, path: from.path, ...versions }];
  const { path } = to;
  if (from === null) return [{ change: 'added', memoryId, path, ...versions }];
  if (from.path === path) return [{ change: 'modified', memoryId, path, ...versions }];
  const contentChanged = from.sha256 !== to.sha256;
  return [{ change: 'renamed', memoryId, from: from.path, path, contentChanged, ...versions }];
}

/** Names the change to a file in one to three words. */
export function changeText(file: FileChange): string {
  return file.change === 'renamed' && file.contentChanged ? 'renamed and modified' : file.change;
}

const IN_ORDER = ['added', 'modified', 'deleted', 'renamed', 'renamed and modified'];

/** Formats counts by kind of change: `2 files added, 1 file renamed, 1 directory removed`. */
export function summary({ files, directoriesMade, directoriesRemoved }: Changes): string {
  const counts = IN_ORDER.flatMap((change) => {
    const count = files.filter((file) => changeText(file) === change).length;
    return count === 0 ? [] : [`${amount(count, 'file')} ${change}`];
  });
  for (const [{ length }, verb] of [
    [directoriesMade, 'made'] as const,
    [directoriesRemoved, 'removed'] as const,
  ]) {
    if (length > 0) counts.push(`${amount(length, 'directory', 'directories')} ${verb}`);
  }
  return counts.length === 0 ? 'nothing to change' : counts.join(', ');
}

/** Counts changed files and directories for the audit trail and responses. */
export function changeCounts({ files, directoriesMade, directoriesRemoved }: Changes) {
  return {
    files: files.length,
    directories_made: directoriesMade.length,
    directories_removed: directoriesRemoved.length,
  };
}

interface ReplacedRow {
  /** ID of the version that replaced this version. */
  by: string;
  id: string;
  memoryId: string;
  operation: Exclude<Operation, 'deleted'>;
  path: string | null;
  sizeBytes: number | null;
}

/** Finds the versions that the given versions replaced. Each given version has an ID, a file, and a time. */
const listReplacedQuery = defineQuery<
  { tenant: string; ids: string[]; memoryIds: string[]; times: string[] },
  ReplacedRow
>(
  'list_replaced',
  `
SELECT n.id AS "by", v.id, v.memory_id AS "memoryId", v.operation, v.path, v.size_bytes AS "sizeBytes"
FROM unnest($ids::text[], $memoryIds::text[], $times::text[]) AS n (id, memory_id, created_at), LATERAL (
  SELECT * FROM versions
  WHERE tenant_id = $tenant AND memory_id = n.memory_id::uuid AND id < n.id::uuid ORDER BY id DESC LIMIT 1
) AS v
WHERE v.superseded_at = n.created_at::timestamptz AND v.operation <> 'deleted'
`,
);

/** A file's state before or after a change, without content. */
export type FileState =
  | { kind: 'absent' }
  | { kind: 'file'; path: string; memoryId: string; versionId: string; sizeBytes: number }
  /** A file existed, but its version was redacted. */
  | { kind: 'redacted' }
  /** A file existed, but its version was pruned. */
  | { kind: 'pruned' };

/** A file's state before or after a change, with content. */
export type LoadedState =
  | Exclude<FileState, { kind: 'file' }>
  | { kind: 'file'; path: string; content: string };

export interface Change {
  before: FileState;
  after: FileState;
}

const BATCH = { items: 100, weight: 4 * 1024 * 1024 };
export const ABSENT = { kind: 'absent' } as const;

export function fileState(version: {
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

export function toFileState(version: Version): FileState {
  return fileState({ ...version, sizeBytes: version.contentSizeBytes });
}

/** Reads the contents before and after changes, in batches. */
export async function* withContents<T extends Change>(
  history: History,
  tenant: string,
  changes: AsyncIterable<T>,
): AsyncGenerator<{ change: T; before: LoadedState; after: LoadedState }> {
  const weigh = ({ before, after }: T) => stateSize(before) + stateSize(after);
  for await (const batch of batches(changes, { ...BATCH, weigh })) {
    const states = batch.flatMap(({ before, after }) => [before, after]);
    const files = states.filter((state) => state.kind === 'file');
    const contents = await history.contents(tenant, files);
    for (const change of batch) {
      yield {
        change,
        before: toLoadedState(change.before, contents),
        after: toLoadedState(change.after, contents),
      };
    }
  }
}

function stateSize(state: FileState): number {
  return state.kind === 'file' ? state.sizeBytes : 0;
}

function toLoadedState(state: FileState, contents: ReadonlyMap<string, string>): LoadedState {
  if (state.kind !== 'file') return state;
  const content = contents.get(state.versionId);
  // The version was pruned or redacted after its row was read.
  return content === undefined ? { kind: 'pruned' } : { kind: 'file', path: state.path, content };
}

export interface LogEntry extends Change {
  version: Version;
  /** ID of the replaced version; null if there was none, or it was pruned. */
  replaced: string | null;
}

export interface LogOptions extends Partial<Omit<VersionFilter, 'path' | 'memoryId'>> {
  /**
   * For a file, its versions at all paths. For a directory, the versions below the directory. Defaults to all versions.
   */
  path?: MemoryPath;
}

/**
 * Lists at most `limit` of a tenant's versions with their changes, newest first, starting before the version with the
 * ID `before`.
 */
export async function logPage(
  history: History,
  tenant: string,
  { path = ROOT, ...filter }: LogOptions,
  before: string | null,
  limit: number,
): Promise<LogEntry[]> {
  const where = { ...filter, path: path === ROOT ? null : path };
  return addChanges(history, tenant, await history.versionsPage(tenant, where, before, limit));
}

/** Adds to each version the states before and after its change. */
export async function addChanges(history: History, tenant: string, versions: Version[]): Promise<LogEntry[]> {
  if (versions.length === 0) return [];
  const { rows } = await history.query(listReplacedQuery, {
    tenant,
    ids: versions.map(({ id }) => id),
    memoryIds: versions.map(({ memoryId }) => memoryId),
    times: versions.map(({ createdAt }) => createdAt),
  });
  const replaced = new Map(rows.map((row) => [row.by, row]));
  return versions.map((version) => {
    const previous = replaced.get(version.id);
    const before: FileState =
      previous !== undefined
        ? fileState(previous)
        : version.operation === 'created'
          ? ABSENT
          : { kind: 'pruned' };
    return { version, replaced: previous?.id ?? null, before, after: toFileState(version) };
  });
}
