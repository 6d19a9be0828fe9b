import { ServiceError } from '../errors.ts';
import { type MemoryPath, ROOT } from '../memory/path.ts';
import type { Quotas } from '../memory/store.ts';
import type { Database } from '../postgres/database.ts';
import { changeOrTry } from '../postgres/dry-run.ts';
import type { QueryExecutor } from '../postgres/query.ts';
import { findTenantQuery } from '../tenants/queries.ts';
import { readPages } from '../util/pages.ts';
import { type ExportedHistory, exportHistory } from './history-export.ts';
import { type ImportContext, type Imported, type ImportSource, importInto } from './import-into.ts';
import {
  BATCH,
  type ExportedDirectoryRow,
  type ExportedFileRow,
  exportDirectoriesQuery,
  exportFilesQuery,
  findEntryQuery,
  type ListedRow,
  listTreeQuery,
  waitForReaderQuery,
} from './queries.ts';

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
   * Exports a tenant's whole memory, as of one moment, entry by entry: the files, then the directories, each after its subdirectories.
   * Unpacking in this order does not touch a directory after its time is set. The history comes last, if asked for. Waits for `write` before it reads on.
   *
   * @param options.signal ends the export before its next statement; its reason is thrown
   * @returns how many versions were exported; null without the history
   */
  async exportTo(
    tenant: string,
    write: (entry: Exported) => Promise<void>,
    { history = false, signal }: { history?: boolean; signal?: AbortSignal | undefined } = {},
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
        for await (const file of filesOf(query, tenant)) await write({ kind: 'file', ...file });
        let last: string | undefined;
        for await (const directory of directoriesOf(query, tenant)) {
          await write({ kind: 'dir', ...directory });
          last = directory.path;
        }
        const created = new Date(row.createdAt).getTime() / 1000;
        if (last !== ROOT) await write({ kind: 'dir', path: ROOT, modified: created });
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
    return changeOrTry(this.#database, dryRun, (query) =>
      importInto(query, tenant, source, { ...context, quotas: this.#quotas }),
    );
  }
}

function filesOf(query: QueryExecutor, tenant: string) {
  return readPages<ExportedFileRow>(async (last) => {
    const page = { tenant, after: last?.path ?? '', limit: BATCH.rows, bytes: BATCH.bytes };
    return (await query(exportFilesQuery, page)).rows;
  });
}

function directoriesOf(query: QueryExecutor, tenant: string) {
  return readPages<ExportedDirectoryRow>(async (last) => {
    const page = { tenant, before: last?.path ?? PAST_THE_END, limit: BATCH.rows };
    return (await query(exportDirectoriesQuery, page)).rows;
  }, BATCH.rows);
}
