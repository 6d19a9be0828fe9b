import type { Database } from '../../core/database/database.ts';
import { defineQuery, type QueryExecutor, time } from '../../core/database/query.ts';
import { ServiceError } from '../../core/errors/errors.ts';
import { History } from '../../core/history/history.ts';
import { COLUMNS, toVersion, type VersionRow } from '../../core/history/version.ts';
import { BATCH, batches, readPages } from '../../core/lib/pages.ts';
import { timeSliced } from '../../core/lib/time-slice.ts';
import { LAST_ID } from '../../core/lib/uuids.ts';
import { type MemoryPath, ROOT } from '../../core/memory/path.ts';
import { findTenantQuery } from '../../core/tenants/queries.ts';
import {
  type ArchivedVersion,
  archivedVersion,
  DIRECTORY,
  type KeptContent,
  MANIFEST,
  type Manifest,
  PAGE_BYTES,
  PAGE_ROWS,
} from './history-format.ts';

export const readManifestQuery = defineQuery<{ tenant: string }, Omit<Manifest, 'format'>>(
  'read_manifest',
  `
SELECT ${time('created_at')} AS created_at, ${time('history_since')} AS complete_since,
  (SELECT count(*) FROM memory_versions AS v WHERE v.tenant_id = $tenant)::float8 AS versions,
  (SELECT count(*) FROM memory_directories AS d WHERE d.tenant_id = $tenant)::float8 AS directories
FROM tenants WHERE id = $tenant
`,
);

/** Lists a page of current versions, ordered by path. The archive stores their contents as files. */
export const exportHeadsQuery = defineQuery<{ tenant: string; after: string; limit: number }, VersionRow>(
  'export_heads',
  `
SELECT ${COLUMNS} FROM (
  SELECT * FROM memory_heads WHERE tenant_id = $tenant AND path > $after ORDER BY path LIMIT $limit
) AS v
ORDER BY v.path
`,
);

/**
 * Lists a page of superseded versions, newest first. The page ends after the version that reaches `bytes` in total, so
 * it has at least one version if any are left. `needsWhole`: the stored content is a splice of the current file, whose
 * content in the archive may differ.
 */
export const exportVersionsQuery = defineQuery<
  { tenant: string; before: string; limit: number; bytes: number },
  VersionRow & KeptContent & { needsWhole: boolean }
>(
  'export_versions',
  `
SELECT ${COLUMNS}, v.splice_start AS "spliceStart", v.splice_length AS "spliceLength", v.content AS "keptContent",
  v.splice_start IS NOT NULL AND NOT EXISTS (
    SELECT FROM versions AS newer WHERE newer.tenant_id = $tenant AND newer.memory_id = v.memory_id AND newer.id > v.id
  ) AS "needsWhole"
FROM (
  SELECT page.*, NULL::text AS live_content,
    sum(COALESCE(octet_length(content), 0)) OVER (ORDER BY id DESC) - COALESCE(octet_length(content), 0) AS before
  FROM (SELECT * FROM versions WHERE tenant_id = $tenant AND id < $before::text::uuid
  ORDER BY id DESC LIMIT $limit) AS page
) AS v
WHERE v.before < $bytes::bigint ORDER BY v.id DESC
`,
);

export interface DirectoryRow {
  path: string;
  created_at: string;
  /** Null for existing directories. */
  removed_at: string | null;
}

export const exportPresentDirectoriesQuery = defineQuery<
  { tenant: string; after: string; limit: number },
  DirectoryRow
>(
  'export_present_directories',
  `
SELECT dir_path AS path, ${time('changed_at')} AS created_at, NULL AS removed_at FROM entries
WHERE tenant_id = $tenant AND dir_path > $after ORDER BY dir_path LIMIT $limit
`,
);

/** Lists a page of past directories, ordered by path and removal time. The first page starts after ''. */
export const exportPastDirectoriesQuery = defineQuery<
  { tenant: string; after: string; afterTime: string; limit: number },
  DirectoryRow
>(
  'export_past_directories',
  `
SELECT path, ${time('created_at')} AS created_at, ${time('removed_at')} AS removed_at FROM past_directories
WHERE tenant_id = $tenant AND (path, removed_at) > ($after, $afterTime::text::timestamptz)
ORDER BY past_directories.path, past_directories.removed_at LIMIT $limit
`,
);

const PAGE = { items: PAGE_ROWS, weight: PAGE_BYTES, weigh: (line: string) => Buffer.byteLength(line) };

/** An archive entry that belongs to the history. `modified` is in seconds since 1970. */
export interface ExportedHistory {
  path: string;
  kind: 'history';
  content: string;
  modified: number;
}

/**
 * Exports a tenant's history entry by entry, in a stable order and from the caller's snapshot. Pages start at a key, so
 * each page costs as much as the first.
 *
 * @param scope tenants that may be named as `via_tenant`; null means all
 * @returns the number of exported versions
 */
export async function exportHistory(
  query: QueryExecutor,
  tenant: string,
  write: (entry: ExportedHistory) => Promise<void>,
  scope: readonly string[] | null,
): Promise<number> {
  const manifest = (await query(readManifestQuery, { tenant })).rows[0];
  if (manifest === undefined) throw new ServiceError('no_such_tenant', tenant);
  // Uses the tenant's creation time for all entries, so that repeated exports of a history are identical.
  const modified = Math.floor(Date.parse(manifest.created_at) / 1000);
  const add = (name: string, content: string) =>
    write({ path: `/${DIRECTORY}/${name}`, kind: 'history', content, modified });
  const addPages = async (directory: string, rows: AsyncIterable<object>) => {
    let page = 0;
    for await (const lines of batches(toJsonLines(rows), PAGE)) {
      page++;
      await add(`${directory}/${String(page).padStart(6, '0')}.ndjson`, lines.join(''));
    }
  };

  await add(MANIFEST, `${JSON.stringify({ format: 1, ...manifest }, null, 2)}\n`);
  await addPages('versions', namedInScope(readVersions(query, tenant), scope));
  await addPages('directories', directoryLines(query, tenant));
  return manifest.versions;
}

async function* namedInScope(versions: AsyncIterable<ArchivedVersion>, scope: readonly string[] | null) {
  for await (const version of versions) {
    const isNamed = scope === null || (version.via_tenant !== null && scope.includes(version.via_tenant));
    yield isNamed ? version : { ...version, via_tenant: null };
  }
}

async function* toJsonLines(rows: AsyncIterable<object>): AsyncGenerator<string> {
  for await (const row of timeSliced(rows)) yield `${JSON.stringify(row)}\n`;
}

async function* readVersions(query: QueryExecutor, tenant: string) {
  const heads = readPages<VersionRow>(
    async (last) =>
      (await query(exportHeadsQuery, { tenant, after: last?.path ?? '', limit: PAGE_ROWS })).rows,
    PAGE_ROWS,
  );
  const inLiveFile = { spliceStart: null, spliceLength: null, keptContent: null };
  for await (const row of heads) yield archivedVersion(toVersion(row), inLiveFile);

  const history = new History({ query });
  const past = readPages(async (last: VersionRow | undefined) => {
    const page = { before: last?.id ?? LAST_ID, limit: PAGE_ROWS, bytes: BATCH.bytes };
    const { rows } = await query(exportVersionsQuery, { tenant, ...page });
    const wholes = await history.contents(
      tenant,
      rows.flatMap(({ needsWhole, memoryId, id }) => (needsWhole ? [{ memoryId, versionId: id }] : [])),
    );
    return rows.map((row) => ({ ...row, whole: wholes.get(row.id) ?? null }));
  });
  for await (const { spliceStart, spliceLength, keptContent, needsWhole, whole, ...row } of past) {
    const kept = needsWhole
      ? { spliceStart: null, spliceLength: null, keptContent: whole }
      : { spliceStart, spliceLength, keptContent };
    yield archivedVersion(toVersion(row), kept);
  }
}

async function* directoryLines(query: QueryExecutor, tenant: string) {
  yield* readPages<{ path: string }>(
    async (last) =>
      (await query(exportPresentDirectoriesQuery, { tenant, after: last?.path ?? ROOT, limit: PAGE_ROWS }))
        .rows,
    PAGE_ROWS,
  );
  yield* readPages<{ path: string; removed_at: string | null }>(async (last) => {
    const position = { after: last?.path ?? '', afterTime: last?.removed_at ?? '-infinity' };
    return (await query(exportPastDirectoriesQuery, { tenant, ...position, limit: PAGE_ROWS })).rows;
  }, PAGE_ROWS);
}

// A number, because drivers parse timestamps differently.
const SECONDS = 'extract(epoch FROM updated_at)::float8 AS modified';

interface ExportedFileRow {
  path: string;
  content: string;
  modified: number;
}

/**
 * Lists a page of the files at or below a path, ordered by path. The page has at most `limit` files and ends after the
 * file that reaches `bytes` in total, so it has at least one file if any are left.
 */
const exportFilesQuery = defineQuery<
  { tenant: string; after: string; limit: number; bytes: number; path: string },
  ExportedFileRow
>(
  'export_files',
  `
SELECT path, content, modified FROM (
  SELECT path, content, ${SECONDS}, sum(size_bytes) OVER (ORDER BY path) - size_bytes AS before FROM entries
  WHERE tenant_id = $tenant AND kind = 'file' AND path > $after AND memory_in_subtree(path, $path)
  ORDER BY path LIMIT $limit
) AS page
WHERE before < $bytes::bigint ORDER BY path
`,
);

interface ExportedDirectoryRow {
  path: string;
  modified: number;
}

/**
 * Lists a page of the directories at or below a path, in descending path order, so that each directory follows its
 * subdirectories.
 */
const exportDirectoriesQuery = defineQuery<
  { tenant: string; before: string; limit: number; path: string },
  ExportedDirectoryRow
>(
  'export_directories',
  `
SELECT dir_path AS path, ${SECONDS} FROM entries
WHERE tenant_id = $tenant AND dir_path < $before AND memory_in_subtree(dir_path, $path)
ORDER BY dir_path DESC LIMIT $limit
`,
);

/** Disables the idle timeout for a transaction that waits for a slow reader of its rows. */
const waitForReaderQuery = defineQuery<Record<string, never>>(
  'wait_for_reader',
  "SELECT set_config('idle_in_transaction_session_timeout', '0', true)",
);

/** Sorts after every path: '0' follows '/', and all paths start with `/memories`. */
const PAST_THE_END = `${ROOT}0`;

/** An exported entry. `modified` is in seconds since 1970. */
export type Exported =
  | { path: string; kind: 'file'; content: string; modified: number }
  | { path: string; kind: 'dir'; modified: number }
  | ExportedHistory;

/**
 * Exports the entries at or below a path, by default the whole memory, from one snapshot. Exports files, then
 * directories, then the history if requested. Each directory follows its subdirectories, so that unpacking a later
 * entry cannot change an earlier directory's time. Waits for `write` before reading further entries.
 *
 * @param options.history whether to export the history; valid only for the whole memory
 * @param options.scope tenants that the history may name; null means all
 * @param options.signal aborts the export before its next statement; the signal's reason is thrown
 * @returns the number of exported versions, or null without the history
 */
export async function exportEntries(
  database: Database,
  tenant: string,
  write: (entry: Exported) => Promise<void>,
  {
    path = ROOT,
    history = false,
    scope = null,
    signal,
  }: {
    path?: MemoryPath | undefined;
    history?: boolean;
    scope?: readonly string[] | null;
    signal?: AbortSignal | undefined;
  } = {},
): Promise<number | null> {
  return database.transaction(
    async (execute) => {
      const query: QueryExecutor = (statement, params) => {
        signal?.throwIfAborted();
        return execute(statement, params);
      };
      await query(waitForReaderQuery, {});
      const row = (await query(findTenantQuery, { tenant })).rows[0];
      if (row === undefined) throw new ServiceError('no_such_tenant', tenant);
      for await (const file of readFiles(query, tenant, path)) await write({ kind: 'file', ...file });
      let last: string | undefined;
      for await (const directory of readDirectories(query, tenant, path)) {
        await write({ kind: 'dir', ...directory });
        last = directory.path;
      }
      const created = new Date(row.createdAt).getTime() / 1000;
      if (path === ROOT && last !== ROOT) await write({ kind: 'dir', path: ROOT, modified: created });
      return history ? exportHistory(query, tenant, write, scope) : null;
    },
    { snapshot: true },
  );
}

function readFiles(query: QueryExecutor, tenant: string, path: MemoryPath) {
  return readPages<ExportedFileRow>(async (last) => {
    const page = { tenant, after: last?.path ?? '', limit: BATCH.rows, bytes: BATCH.bytes, path };
    return (await query(exportFilesQuery, page)).rows;
  });
}

function readDirectories(query: QueryExecutor, tenant: string, path: MemoryPath) {
  return readPages<ExportedDirectoryRow>(async (last) => {
    const page = { tenant, before: last?.path ?? PAST_THE_END, limit: BATCH.rows, path };
    return (await query(exportDirectoriesQuery, page)).rows;
  }, BATCH.rows);
}
