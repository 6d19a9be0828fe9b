import { type MemoryPath, ROOT } from '../memory/path.ts';
import { batches } from '../util/batches.ts';
import { ABSENT, type Change, type FileState, stateOf, stateOfVersion } from './file-state.ts';
import type { History } from './history.ts';
import type { VersionFilter } from './queries.ts';
import type { Version } from './version.ts';

const PAGE = 100;

/** A version, and what it changed. */
export interface LogEntry extends Change {
  version: Version;
  /** The id of the version that it replaced; null when there was none, or it is no longer kept. */
  replaced: string | null;
}

export interface LogOptions extends Partial<Omit<VersionFilter, 'path' | 'memoryId'>> {
  /** Of a file: its versions wherever it was. Of a directory: those of what was below it. By default all. */
  path?: MemoryPath;
  limit?: number;
}

/** A tenant's versions with what they changed, the newest first. */
export async function* log(
  history: History,
  tenant: string,
  { path = ROOT, limit, ...filter }: LogOptions,
): AsyncGenerator<LogEntry> {
  // Redacted versions have no path, so they would not be below the root.
  const versions = history.versions(tenant, { ...filter, path: path === ROOT ? null : path }, limit);
  for await (const page of batches(versions, { items: PAGE, weight: PAGE, weightOf: () => 1 })) {
    yield* await withChanges(history, tenant, page);
  }
}

/** A page of `log`: at most `limit` entries before the version with that id, or the first. */
export async function logPage(
  history: History,
  tenant: string,
  { path = ROOT, ...filter }: Omit<LogOptions, 'limit'>,
  before: string | null,
  limit: number,
): Promise<LogEntry[]> {
  const where = { ...filter, path: path === ROOT ? null : path };
  return withChanges(history, tenant, await history.versionsPage(tenant, where, before, limit));
}

/** Versions of a tenant with what they changed. */
export async function withChanges(
  history: History,
  tenant: string,
  versions: Version[],
): Promise<LogEntry[]> {
  const replaced = await history.replacedBy(tenant, versions);
  return versions.map((version) => {
    const previous = replaced.get(version.id);
    const before: FileState =
      previous !== undefined
        ? stateOf(previous)
        : version.operation === 'created'
          ? ABSENT
          : { kind: 'pruned' };
    return { version, replaced: previous?.id ?? null, before, after: stateOfVersion(version) };
  });
}
