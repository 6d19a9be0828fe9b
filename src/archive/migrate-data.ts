import type { Database } from '../database/database.ts';
import type { QueryExecutor } from '../database/query.ts';
import { JOB_LOCKS } from '../database/tenant-job.ts';
import { ServiceError } from '../errors/errors.ts';
import {
  Digest,
  describeTable,
  digestOf,
  identity,
  insertRows,
  isSameRow,
  matchingRows,
  readPagesOf,
  SHARED_TABLES,
  TABLES_OF_TENANTS,
  type Table,
  type TextRow,
} from './migrate-rows.ts';

/**
 * Compares the rows of a table with those that the target has under the same key. Rows that only the target has do
 * not matter.
 *
 * @param onPage receives each page, with those of its rows that the target does not have
 * @throws ServiceError when a row differs
 */
export async function compareRows(
  from: QueryExecutor,
  to: QueryExecutor,
  table: Table,
  onPage: (rows: TextRow[], missing: TextRow[]) => Promise<void> | void,
): Promise<void> {
  for await (const rows of readPagesOf(from, table, null)) {
    const there = await matchingRows(to, table, rows);
    const missing: TextRow[] = [];
    for (const row of rows) {
      const other = there.get(identity(table, row));
      if (other === undefined) missing.push(row);
      else if (!isSameRow(row, other)) throw new ServiceError('target_has_other_data', nameOf(table, row));
    }
    await onPage(rows, missing);
  }
}

/**
 * Copies the rows that the target does not have, and then compares all of them.
 *
 * @throws ServiceError when the target has another row under the same key
 */
export async function copyShared(from: QueryExecutor, to: QueryExecutor, table: Table): Promise<Digest> {
  const digest = new Digest();
  await compareRows(from, to, table, async (rows, missing) => {
    digest.add(rows);
    if (missing.length > 0) await insertRows(to, table, null, missing);
  });
  await compareRows(from, to, table, (rows, missing) => {
    if (missing.length > 0)
      throw new ServiceError('copy_differs', table.name, rows.length - missing.length, rows.length);
  });
  return digest;
}

/** What a person knows a row by. The hash of a key is none of that. */
function nameOf(table: Table, row: TextRow): string {
  switch (table.name) {
    case 'public.tenants':
      return `tenant ${identity(table, row)}`;
    case 'public.fleet_usage':
      return `the usage of ${identity(table, row)}`;
    case 'public.api_keys':
      return 'an API key with the same secret';
    default:
      return `a row of ${table.name.replace('public.', '')}`;
  }
}

/** What was read of the source, by table. */
export interface MovedTenant {
  /** Whether the target had all of it already. */
  wasThere: boolean;
  digests: Map<Table, Digest>;
}

/**
 * Copies a tenant in one transaction, which commits only once the target has the same rows. So a tenant is in the
 * target as a whole or not at all, and an interrupted move goes on with the next one. The source may change
 * meanwhile: what is copied is one moment of it.
 *
 * @throws ServiceError when the target has other rows of the tenant
 */
export function moveTenant(
  source: Database,
  target: Database,
  tables: readonly Table[],
  tenant: string,
  onRows: (rows: number) => void,
): Promise<MovedTenant> {
  return source.transaction(
    (from) =>
      target.transaction(async (to) => {
        const wasThere = await hasRows(to, tables, tenant);
        const digests = new Map<Table, Digest>();
        for (const table of tables) {
          const digest = wasThere
            ? await digestOf(from, table, tenant, onRows)
            : await copyRows(from, to, table, tenant, onRows);
          digests.set(table, digest);
          const copy = await digestOf(to, table, tenant);
          if (copy.sha256 === digest.sha256) continue;
          if (wasThere) throw new ServiceError('target_has_other_data', `tenant ${tenant}`);
          throw new ServiceError('copy_differs', table.name, copy.rows, digest.rows);
        }
        return { wasThere, digests };
      }),
    { snapshot: true },
  );
}

async function hasRows(query: QueryExecutor, tables: readonly Table[], tenant: string): Promise<boolean> {
  for (const table of tables) {
    const { rows } = await query(table.firstPage, { tenant, limit: 1, bytes: 1 });
    if (rows.length > 0) return true;
  }
  return false;
}

async function copyRows(
  from: QueryExecutor,
  to: QueryExecutor,
  table: Table,
  tenant: string,
  onRows: (rows: number) => void,
): Promise<Digest> {
  const digest = new Digest();
  for await (const rows of readPagesOf(from, table, tenant)) {
    digest.add(rows);
    await insertRows(to, table, tenant, rows);
    onRows(rows.length);
  }
  return digest;
}

export interface MigrationProgress {
  tenants: number;
  of: number;
  rows: number;
}

export interface Migrated {
  tenants: number;
  /** How many of them the target had already. */
  alreadyThere: number;
  rows: number;
  bytes: number;
  /** What both databases have: the rows by table, and a hash of them in the order of tenants and keys. */
  tables: { table: string; rows: number; sha256: string }[];
}

/**
 * Copies all data of a database into another one that has nothing of it, or a part from an interrupted run. Both have
 * the schema of this version. Nothing is deleted or overwritten.
 *
 * @returns undefined when another process is doing the same with the target
 * @throws ServiceError when the target has other data for the same tenant, key, event, or day; nothing has been
 *   changed then
 */
export async function migrateData(
  source: Database,
  target: Database,
  onProgress: (progress: MigrationProgress) => void,
): Promise<Migrated | undefined> {
  let migrated: Migrated | undefined;
  await target.withJobLock(JOB_LOCKS.dataMigration, async () => {
    migrated = await migrateLocked(source, target, onProgress);
  });
  return migrated;
}

async function migrateLocked(
  source: Database,
  target: Database,
  onProgress: (progress: MigrationProgress) => void,
): Promise<Migrated> {
  const ofTenants = await commonTables(source, target, TABLES_OF_TENANTS, 'tenant');
  const shared = await commonTables(source, target, SHARED_TABLES, 'all');
  const ids = await checkedTenants(source, target);
  for (const table of shared) await compareRows(source.query, target.query, table, () => {});
  const totals = new Map([...ofTenants, ...shared].map((table) => [table, new Digest()]));
  let rows = 0;
  let alreadyThere = 0;
  for (const [done, id] of ids.entries()) {
    const { digests, wasThere } = await moveTenant(source, target, ofTenants, id, (more) => {
      rows += more;
      onProgress({ tenants: done, of: ids.length, rows });
    });
    for (const [table, digest] of digests) totals.get(table)?.append(digest);
    if (wasThere) alreadyThere++;
    onProgress({ tenants: done + 1, of: ids.length, rows });
  }
  // Keys come last: with them, a service on the target would answer requests.
  await source.transaction(
    async (from) => {
      for (const table of shared) totals.get(table)?.append(await copyShared(from, target.query, table));
    },
    { snapshot: true },
  );
  if (source.kind === 'pglite') await assertNothingLeft(source.query, ofTenants);
  return summary(totals, { tenants: ids.length, alreadyThere });
}

function summary(totals: Map<Table, Digest>, counted: Pick<Migrated, 'tenants' | 'alreadyThere'>): Migrated {
  const digests = [...totals.values()];
  return {
    ...counted,
    rows: digests.reduce((sum, each) => sum + each.rows, 0),
    bytes: digests.reduce((sum, each) => sum + each.bytes, 0),
    tables: [...totals].map(([{ name }, { rows, sha256 }]) => ({
      table: name.replace('public.', ''),
      rows,
      sha256,
    })),
  };
}

/** @throws ServiceError when the databases do not have the same columns */
async function commonTables(
  source: Database,
  target: Database,
  names: readonly string[],
  by: 'tenant' | 'all',
): Promise<Table[]> {
  const tables: Table[] = [];
  for (const name of names) {
    const from = await describeTable(source.query, name, by);
    const to = await describeTable(target.query, name, by);
    if (from.definition !== to.definition) throw new ServiceError('columns_differ', name);
    tables.push(from);
  }
  return tables;
}

/** The ids of all tenants. @throws ServiceError when the target has one that differs */
async function checkedTenants(source: Database, target: Database): Promise<string[]> {
  const table = await describeTable(source.query, 'public.tenants', 'all');
  const ids: string[] = [];
  await compareRows(source.query, target.query, table, (rows) => {
    for (const row of rows) ids.push(identity(table, row));
  });
  return ids;
}

/** Rows without a tenant would be left behind. */
async function assertNothingLeft(query: QueryExecutor, tables: readonly Table[]): Promise<void> {
  for (const { name } of tables.filter((table) => table.name !== 'public.tenants')) {
    const sql = `SELECT count(*)::int AS rows FROM ${name} AS t WHERE NOT EXISTS (SELECT FROM tenants WHERE id = t.tenant_id)`;
    const left = await query<Record<string, never>, { rows: number }>(
      { name: `migrate_left_${name.replace('public.', '')}`, parameters: [], sql },
      {},
    );
    const rows = left.rows[0]?.rows ?? 0;
    if (rows > 0) throw new ServiceError('rows_without_tenant', name, rows);
  }
}
