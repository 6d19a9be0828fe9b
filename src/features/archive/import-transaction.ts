import { randomUUID } from 'node:crypto';
import type { Database } from '../../core/database/database.ts';
import { defineQuery, type QueryExecutor } from '../../core/database/query.ts';
import { ServiceError } from '../../core/errors/errors.ts';
import { findPathsQuery } from '../../core/files/read-queries.ts';
import { BATCH } from '../../core/lib/pages.ts';
import { timeSlicedSort } from '../../core/lib/time-slice.ts';
import type { OverQuota, Quotas } from '../../core/memory/memory-store.ts';
import { type Origin, storedOrigin } from '../../core/memory/origin.ts';
import { type MemoryPath, ROOT } from '../../core/memory/path.ts';
import { noteArrival } from '../../core/tenants/arrivals.ts';
import { recordNearLimits } from '../../core/tenants/near-limits.ts';
import { beginChangeQuery, bindRootQuery, reserveQuery, type TenantRow } from '../../core/tenants/queries.ts';
import { rejectArchived } from '../../core/tenants/stores.ts';
import { requireTenant } from '../../core/tenants/tenants.ts';
import { type HistorySource, importHistory } from './history-import.ts';

// These queries belong to one change (`beginChangeQuery`) at the time `at`. The caller has checked for conflicts.

/** Creates missing directories and returns their paths. Parents must exist or be among the paths. */
export const importDirectoriesQuery = defineQuery<
  { tenant: string; paths: string[]; modified: string[]; at: string },
  { path: string }
>(
  'import_directories',
  `
INSERT INTO entries AS e (tenant_id, path, parent_path, kind, updated_at, changed_at)
SELECT $tenant, d.path, memory_parent(d.path), 'dir', d.modified::timestamptz, $at::timestamptz
FROM unnest($paths::text[], $modified::text[]) AS d (path, modified)
ON CONFLICT (tenant_id, path) DO NOTHING
RETURNING e.path
`,
);

export const importFilesQuery = defineQuery<{
  tenant: string;
  paths: string[];
  contents: string[];
  versions: string[];
  modified: string[];
  at: string;
  origin: string;
}>(
  'import_files',
  `
INSERT INTO entries AS e (
  tenant_id, path, parent_path, kind, content, version, memory_id, operation, updated_at, changed_at, origin
)
SELECT $tenant, f.path, memory_parent(f.path), 'file', f.content, f.id, f.id, 'created', f.modified::timestamptz,
  $at::timestamptz,
  $origin::text::jsonb
FROM (
  SELECT *, memory_version_id(memory_id_prefix($at::timestamptz), version::uuid) AS id
  FROM unnest($paths::text[], $contents::text[], $versions::text[], $modified::text[])
    AS given (path, content, version, modified)
) AS f
`,
);

/** Whether a tenant has neither files nor a history. */
export const isUntouchedQuery = defineQuery<{ tenant: string }, { isUntouched: boolean }>(
  'is_untouched',
  `
SELECT NOT EXISTS (SELECT FROM entries WHERE tenant_id = $tenant AND path > '/memories')
  AND NOT EXISTS (SELECT FROM versions WHERE tenant_id = $tenant)
  AND NOT EXISTS (SELECT FROM past_directories WHERE tenant_id = $tenant) AS "isUntouched"
`,
);

export interface ImportedFile {
  path: MemoryPath;
  content: string;
  modified: Date;
}

/** The entries to import. All checks that do not depend on the tenant's memory have passed. */
export interface ImportSource {
  /** All paths, including ancestor directories. */
  readonly entries: ReadonlyMap<MemoryPath, { kind: 'file' | 'dir'; modified: Date }>;
  readonly files: number;
  readonly bytes: number;
  /** The files, in batches no larger than `BATCH`. */
  batches(): AsyncIterable<ImportedFile[]>;
  readonly history?: HistorySource | undefined;
}

export type Imported =
  /**
   * `directories`: the created directories, without the root, which always exists. `versions`: number of versions in an
   * imported history, or null if no history was imported. `changedAt`: the files' time, unless a history has their
   * times.
   */
  | {
      kind: 'imported';
      files: number;
      bytes: number;
      directories: string[];
      versions: number | null;
      changedAt: string | null;
    }
  | { kind: 'exists'; paths: string[]; total: number }
  | OverQuota;

export interface ImportContext {
  quotas: Quotas;
  /** Metadata stored with the new versions. */
  origin: Origin;
  /**
   * Checks the locked tenant.
   *
   * @throws ServiceError if the rules have changed since the source was checked
   */
  check?: ((tenant: TenantRow) => void) | undefined;
  /**
   * Called after each batch with the number of written files. The files are invisible to others until the transaction
   * commits.
   */
  onWritten?: ((files: number, total: number) => void) | undefined;
}

/** Limit on the existing paths listed in the error. */
const NAMED_PATHS = 5;

/**
 * Imports files and directories into a tenant's memory in one transaction. Writes to the tenant wait until the import
 * ends. Throws `DatabaseError`.
 *
 * @param options.dryRun whether to roll back at the end
 */
export function writeImport(
  database: Database,
  tenant: string,
  source: ImportSource,
  { dryRun = false, ...context }: ImportContext & { dryRun?: boolean },
): Promise<Imported> {
  return transactionOrDryRun(database, dryRun, (query) => importInto(query, tenant, source, context));
}

/**
 * Imports files and directories into a tenant's memory, in the caller's transaction. Locks the tenant and checks the
 * entire import before the first write. If the tenant has files or a history, the imported files are recorded as new
 * versions. Otherwise, the source's history is imported.
 */
async function importInto(
  query: QueryExecutor,
  tenant: string,
  source: ImportSource,
  { quotas, origin, check, onWritten }: ImportContext,
): Promise<Imported> {
  const at = (await query(beginChangeQuery, { tenant })).rows[0]?.at;
  if (!at) throw new ServiceError('no_such_tenant', tenant);
  const before = await requireTenant({ query }, tenant);
  check?.(before);
  await rejectArchived(query, tenant);
  const { conflicts, directories: existing } = await findExisting(query, tenant, source);
  if (conflicts.length > 0) {
    return { kind: 'exists', paths: conflicts.sort().slice(0, NAMED_PATHS), total: conflicts.length };
  }
  const needed = {
    files: source.files,
    directories:
      [...source.entries].filter(([path, { kind }]) => kind === 'dir' && path !== ROOT).length - existing,
    bytes: source.bytes,
  };
  const reserved = await query(reserveQuery, { tenant, ...needed, ...quotas });
  const exceeded = reserved.rows[0]?.exceeded;
  if (exceeded) return { kind: 'over_quota', ...exceeded };

  const { history } = source;
  const isRecorded = history === undefined || !(await isUntouched(query, tenant));
  const directories = await importDirectories(query, tenant, source, at);
  let files = 0;
  let bytes = 0;
  for await (const batch of source.batches()) {
    await query(importFilesQuery, {
      tenant,
      at,
      origin: storedOrigin(origin),
      paths: batch.map(({ path }) => path),
      contents: batch.map(({ content }) => content),
      versions: batch.map(() => randomUUID()),
      modified: batch.map(({ modified }) => modified.toISOString()),
    });
    files += batch.length;
    for (const { content } of batch) bytes += Buffer.byteLength(content);
    onWritten?.(files, source.files);
  }
  const versions = isRecorded ? null : await importHistory(query, tenant, history);
  await noteArrival(query, tenant);
  await recordNearLimits(query, before, quotas, origin.actor);
  return { kind: 'imported', files, bytes, directories, versions, changedAt: isRecorded ? at : null };
}

async function isUntouched(query: QueryExecutor, tenant: string): Promise<boolean> {
  return (await query(isUntouchedQuery, { tenant })).rows[0]?.isUntouched ?? false;
}

/**
 * Finds an import's paths that already exist.
 *
 * @returns `conflicts`: the conflicting paths; `directories`: the number of needed directories that exist, without the
 *   root
 */
async function findExisting(query: QueryExecutor, tenant: string, { entries }: ImportSource) {
  const conflicts: string[] = [];
  let directories = 0;
  for (const paths of chunks([...entries.keys()])) {
    const { rows } = await query(findPathsQuery, { tenant, paths });
    for (const { path, kind } of rows) {
      if (kind === 'file' || entries.get(path as MemoryPath)?.kind === 'file') conflicts.push(path);
      else if (path !== ROOT) directories++;
    }
  }
  return { conflicts, directories };
}

async function importDirectories(
  query: QueryExecutor,
  tenant: string,
  { entries }: ImportSource,
  at: string,
): Promise<string[]> {
  // Sorted, so that each directory follows its parent.
  const directories = await timeSlicedSort(
    [...entries].filter(([, { kind }]) => kind === 'dir'),
    ([a], [b]) => (a < b ? -1 : 1),
  );
  const made: string[] = [];
  for (const chunk of chunks(directories)) {
    const paths = chunk.map(([path]) => path);
    const modified = chunk.map(([, entry]) => entry.modified.toISOString());
    const { rows } = await query(importDirectoriesQuery, { tenant, paths, modified, at });
    for (const { path } of rows) {
      if (path === ROOT) await query(bindRootQuery, { tenant });
      else made.push(path);
    }
  }
  return made;
}

function* chunks<T>(all: T[]): Generator<T[]> {
  for (let from = 0; from < all.length; from += BATCH.rows) yield all.slice(from, from + BATCH.rows);
}

/** Thrown to roll back a dry run's transaction. */
class DryRun extends Error {}

/** Runs `work` in a transaction. A dry run performs the same checks and is rolled back. */
export async function transactionOrDryRun<T>(
  database: Database,
  dryRun: boolean,
  work: (query: QueryExecutor) => Promise<T>,
): Promise<T> {
  if (!dryRun) return database.transaction(work);
  let tried: { result: T } | undefined;
  try {
    return await database.transaction(async (query) => {
      tried = { result: await work(query) };
      throw new DryRun();
    });
  } catch (error) {
    if (error instanceof DryRun && tried !== undefined) return tried.result;
    throw error;
  }
}
