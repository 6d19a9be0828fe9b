import { ServiceError } from '../errors.ts';
import { type MemoryPath, ROOT } from '../memory/path.ts';
import type { Quotas } from '../memory/store.ts';
import type { Database } from '../postgres/database.ts';
import { transactionOrDryRun } from '../postgres/dry-run.ts';
import { defineQuery, type QueryExecutor } from '../postgres/query.ts';
import { findTenantQuery } from '../tenants/queries.ts';
import { readPages } from '../util/pages.ts';
import { BATCH } from './batch.ts';
import { type ExportedHistory, exportHistory } from './history-export.ts';
import { type ImportContext, type Imported, type ImportSource, importInto } from './import-transaction.ts';

// As a number, because the drivers parse timestamps differently.
const SECONDS = 'extract(epoch FROM updated_at)::float8 AS modified';

/** An entry of a listing; `modified` in seconds since 1970. That of a directory is when it came to its path, as in a past tree. */
export interface ListedRow {
  path: string;
  kind: 'file' | 'dir';
  /** Null for a directory. */
  bytes: number | null;
  modified: number;
}

/** A page of the entries at a path and below it, in path order. The first page follows ''. */
export const listTreeQuery = defineQuery<
  { tenant: string; path: string; after: string; limit: number },
  ListedRow
>(
  'list_tree',
  ['tenant', 'path', 'after', 'limit'],
  `
SELECT path, kind, size_bytes AS bytes,
  extract(epoch FROM CASE kind WHEN 'dir' THEN changed_at ELSE updated_at END)::float8 AS modified
FROM entries WHERE tenant_id = $1 AND path > $3 AND memory_in_subtree(path, $2)
ORDER BY path LIMIT $4
`,
);

/** The entry at a path, with its content if it is a file. */
export const findEntryQuery = defineQuery<
  { tenant: string; path: string },
  { kind: 'file'; content: string } | { kind: 'dir'; content: null }
>('find_entry', ['tenant', 'path'], 'SELECT kind, content FROM entries WHERE tenant_id = $1 AND path = $2');

export interface ExportedFileRow {
  path: string;
  content: string;
  modified: number;
}

/**
 * A page of the files at a path and below it, in path order: at most `limit`, stopping once they exceed `bytes`, but at least one if there is one.
 */
export const exportFilesQuery = defineQuery<
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

export interface ExportedDirectoryRow {
  path: string;
  modified: number;
}

/** A page of the directories at a path and below it, in reverse path order, so that a directory comes after its subdirectories. */
export const exportDirectoriesQuery = defineQuery<
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
export const waitForReaderQuery = defineQuery<Record<string, never>>(
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

/** Lists, exports, and imports the whole memory of a tenant. Throws `DatabaseError`. */
export class Transfer {
  readonly #database: Database;
  readonly #quotas: Quotas;

  constructor(database: Database, quotas: Quotas) {
    this.#database = database;
    this.#quotas = quotas;
  }

  /** Returns the entry at a path, with its content if it is a file. The root always exists, but may have no entry. */
  async find(tenant: string, path: MemoryPath) {
    return (await this.#database.query(findEntryQuery, { tenant, path })).rows[0];
  }

  /** Lists the entries at a path and below it, in path order. */
  list(tenant: string, path: MemoryPath): AsyncGenerator<ListedRow> {
    const limit = BATCH.rows;
    return readPages<ListedRow>((last) => this.page(tenant, path, { after: last?.path ?? '', limit }), limit);
  }

  /** A page of `list`: at most `limit` entries after a path. */
  async page(tenant: string, path: MemoryPath, page: { after: string; limit: number }): Promise<ListedRow[]> {
    return (await this.#database.query(listTreeQuery, { tenant, path, ...page })).rows;
  }

  /**
   * Exports what is at a path and below it, by default the whole memory, as of one moment, entry by entry: the files, then the directories, each after its subdirectories.
   * Unpacking in this order does not touch a directory after its time is set. The history comes last, if asked for. Waits for `write` before it reads on.
   *
   * @param options.history goes with the whole memory only
   * @param options.signal ends the export before its next statement; its reason is thrown
   * @returns how many versions were exported; null without the history
   */
  async exportTo(
    tenant: string,
    write: (entry: Exported) => Promise<void>,
    {
      path = ROOT,
      history = false,
      signal,
    }: { path?: MemoryPath | undefined; history?: boolean; signal?: AbortSignal | undefined } = {},
  ): Promise<number | null> {
    return this.#database.transaction(
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

  /**
   * Imports files and directories into a tenant's memory, all or nothing. Writes to the tenant wait meanwhile.
   *
   * @param options.dryRun whether to roll back at the end
   */
  async importFrom(
    tenant: string,
    source: ImportSource,
    { dryRun = false, ...context }: Omit<ImportContext, 'quotas'> & { dryRun?: boolean },
  ): Promise<Imported> {
    return transactionOrDryRun(this.#database, dryRun, (query) =>
      importInto(query, tenant, source, { ...context, quotas: this.#quotas }),
    );
  }
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
