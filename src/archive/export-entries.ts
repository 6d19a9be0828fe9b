import { ServiceError } from '../errors.ts';
import { type MemoryPath, ROOT } from '../memory/path.ts';
import type { Database } from '../postgres/database.ts';
import { defineQuery, type QueryExecutor } from '../postgres/query.ts';
import { findTenantQuery } from '../tenants/queries.ts';
import { readPages } from '../util/pages.ts';
import { BATCH } from './batch.ts';
import { type ExportedHistory, exportHistory } from './history-export.ts';

// As a number, because the drivers parse timestamps differently.
const SECONDS = 'extract(epoch FROM updated_at)::float8 AS modified';

interface ExportedFileRow {
  path: string;
  content: string;
  modified: number;
}

/**
 * A page of the files at a path and below it, in path order: at most `limit`, stopping once they exceed `bytes`, but at least one if there is one.
 */
const exportFilesQuery = defineQuery<
  { tenant: string; after: string; limit: number; bytes: number; path: string },
  ExportedFileRow
>(
  'export_files',
  ['tenant', 'after', 'limit', 'bytes', 'path'],
  `
SELECT path, content, modified FROM (
  SELECT path, content, ${SECONDS}, sum(size_bytes) OVER (ORDER BY path) - size_bytes AS before FROM entries
  WHERE tenant_id = $1 AND kind = 'file' AND path > $2 AND memory_in_subtree(path, $5) ORDER BY path LIMIT $3
) AS page
WHERE before < $4::bigint ORDER BY path
`,
);

interface ExportedDirectoryRow {
  path: string;
  modified: number;
}

/** A page of the directories at a path and below it, in reverse path order, so that a directory comes after its subdirectories. */
const exportDirectoriesQuery = defineQuery<
  { tenant: string; before: string; limit: number; path: string },
  ExportedDirectoryRow
>(
  'export_directories',
  ['tenant', 'before', 'limit', 'path'],
  `
SELECT dir_path AS path, ${SECONDS} FROM entries
WHERE tenant_id = $1 AND dir_path < $2 AND memory_in_subtree(dir_path, $4) ORDER BY dir_path DESC LIMIT $3
`,
);

/**
 * Disables the timeout of an idle transaction, for a transaction whose rows go to a reader that may be slow.
 */
const waitForReaderQuery = defineQuery<Record<string, never>>(
  'wait_for_reader',
  [],
  "SELECT set_config('idle_in_transaction_session_timeout', '0', true)",
);

/** Sorts after every path: '0' follows '/', and all paths start with `/memories`. */
const PAST_THE_END = `${ROOT}0`;

/** An exported entry; `modified` in seconds since 1970. */
export type Exported =
  | { path: string; kind: 'file'; content: string; modified: number }
  | { path: string; kind: 'dir'; modified: number }
  | ExportedHistory;

/**
 * Exports what is at a path and below it, by default the whole memory, as of one moment, entry by entry: the files, then the directories, each after its subdirectories.
 * Unpacking in this order does not touch a directory after its time is set. The history comes last, if asked for. Waits for `write` before it reads on.
 *
 * @param options.history goes with the whole memory only
 * @param options.signal ends the export before its next statement; its reason is thrown
 * @returns how many versions were exported; null without the history
 */
export async function exportEntries(
  database: Database,
  tenant: string,
  write: (entry: Exported) => Promise<void>,
  {
    path = ROOT,
    history = false,
    signal,
  }: { path?: MemoryPath | undefined; history?: boolean; signal?: AbortSignal | undefined } = {},
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
      for await (const file of filesOf(query, tenant, path)) await write({ kind: 'file', ...file });
      let last: string | undefined;
      for await (const directory of directoriesOf(query, tenant, path)) {
        await write({ kind: 'dir', ...directory });
        last = directory.path;
      }
      const created = new Date(row.createdAt).getTime() / 1000;
      if (path === ROOT && last !== ROOT) await write({ kind: 'dir', path: ROOT, modified: created });
      return history ? exportHistory(query, tenant, write) : null;
    },
    { snapshot: true },
  );
}

function filesOf(query: QueryExecutor, tenant: string, path: MemoryPath) {
  return readPages<ExportedFileRow>(async (last) => {
    const page = { tenant, after: last?.path ?? '', limit: BATCH.rows, bytes: BATCH.bytes, path };
    return (await query(exportFilesQuery, page)).rows;
  });
}

function directoriesOf(query: QueryExecutor, tenant: string, path: MemoryPath) {
  return readPages<ExportedDirectoryRow>(async (last) => {
    const page = { tenant, before: last?.path ?? PAST_THE_END, limit: BATCH.rows, path };
    return (await query(exportDirectoriesQuery, page)).rows;
  }, BATCH.rows);
}
