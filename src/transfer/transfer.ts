import { ServiceError } from '../errors.ts';
import type { Origin } from '../memory/origin.ts';
import { type MemoryPath, ROOT } from '../memory/path.ts';
import type { Quotas } from '../memory/store.ts';
import type { Database } from '../postgres/database.ts';
import { changeOrTry } from '../postgres/dry-run.ts';
import type { QueryExecutor } from '../postgres/query.ts';
import { findTenantQuery } from '../tenants/queries.ts';
import { BATCH, type Imported, type ImportSource, importInto } from './import.ts';
import {
  exportDirectoriesQuery,
  exportFilesQuery,
  findEntryQuery,
  type ListedRow,
  listTreeQuery,
  waitForReaderQuery,
} from './queries.ts';

/** Past every path: '0' follows '/', and all paths begin with `/memories`. */
const PAST_THE_END = `${ROOT}0`;

/** An entry on its way out; `modified` in seconds since 1970. */
export type Exported =
  | { path: string; kind: 'file'; content: string; modified: number }
  | { path: string; kind: 'dir'; modified: number };

/** A tenant's memory as a whole: listed, taken out, put in. Throws `DatabaseError`. */
export class Transfer {
  readonly #database: Database;
  readonly #quotas: Quotas;

  constructor(database: Database, quotas: Quotas) {
    this.#database = database;
    this.#quotas = quotas;
  }

  /** What is at a path, with its content if it is a file. Nothing may be at the root, which exists nevertheless. */
  async find(tenant: string, path: MemoryPath) {
    return (await this.#database.query(findEntryQuery, { tenant, path })).rows[0];
  }

  /** What is at a path and below it, in the order of the paths, read page by page. */
  async *list(tenant: string, path: MemoryPath): AsyncGenerator<ListedRow> {
    let after = '';
    for (;;) {
      const { rows } = await this.#database.query(listTreeQuery, { tenant, path, after, limit: BATCH.rows });
      yield* rows;
      const last = rows.at(-1);
      if (last === undefined || rows.length < BATCH.rows) return;
      after = last.path;
    }
  }

  /**
   * Hands out a tenant's whole memory as it is at one moment, entry by entry, always in the same order: the files, then
   * the directories, each after those below it (whoever unpacks in this order does not touch a directory again once
   * its time is set). Waits for `write` before it reads on.
   */
  async exportTo(tenant: string, write: (entry: Exported) => Promise<void>): Promise<void> {
    await this.#database.transaction(
      async (query) => {
        await query(waitForReaderQuery, {});
        const row = (await query(findTenantQuery, { tenant })).rows[0];
        if (row === undefined) throw new ServiceError('unknown_tenant', tenant);
        for await (const file of filesOf(query, tenant)) await write({ kind: 'file', ...file });
        let last: string | undefined;
        for await (const directory of directoriesOf(query, tenant)) {
          await write({ kind: 'dir', ...directory });
          last = directory.path;
        }
        const created = new Date(row.createdAt).getTime() / 1000;
        if (last !== ROOT) await write({ kind: 'dir', path: ROOT, modified: created });
      },
      { snapshot: true },
    );
  }

  /**
   * Puts files and directories into a tenant's memory, all or nothing. The tenant's writers wait meanwhile.
   *
   * @param options.origin whom the history names
   * @param options.dryRun does it all and takes it back
   */
  async importFrom(
    tenant: string,
    source: ImportSource,
    { origin, dryRun = false }: { origin: Origin; dryRun?: boolean },
  ): Promise<Imported> {
    return changeOrTry(this.#database, dryRun, (query) =>
      importInto(query, tenant, source, this.#quotas, origin),
    );
  }
}

async function* filesOf(query: QueryExecutor, tenant: string) {
  let after = '';
  for (;;) {
    const page = { tenant, after, limit: BATCH.rows, bytes: BATCH.bytes };
    const { rows } = await query(exportFilesQuery, page);
    const last = rows.at(-1);
    if (last === undefined) return;
    yield* rows;
    after = last.path;
  }
}

async function* directoriesOf(query: QueryExecutor, tenant: string) {
  let before = PAST_THE_END;
  for (;;) {
    const { rows } = await query(exportDirectoriesQuery, { tenant, before, limit: BATCH.rows });
    const last = rows.at(-1);
    if (last === undefined) return;
    yield* rows;
    before = last.path;
  }
}
