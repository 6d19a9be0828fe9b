import { ServiceError } from '../errors.ts';
import type { Database } from '../postgres/database.ts';
import type { QueryExecutor } from '../postgres/query.ts';
import { JOB_LOCKS } from '../postgres/tenant-job.ts';
import { Digest, identity } from './rows.ts';
import { compareRows, copyShared } from './shared.ts';
import { describeTable, SHARED_TABLES, TABLES_OF_TENANTS, type Table } from './table.ts';
import { moveTenant } from './tenant.ts';

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
 * Copies all data of a database into another one that has nothing of it, or a part from an interrupted run. Both have the schema of this
 * version. Nothing is deleted or overwritten.
 *
 * @returns undefined when another process is doing the same with the target
 * @throws ServiceError when the target has other data for the same tenant, key, event, or day; nothing has been changed then
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
