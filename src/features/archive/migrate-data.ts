import type { Database } from '../../core/database/database.ts';
import type { QueryExecutor } from '../../core/database/query.ts';
import { JOB_LOCKS } from '../../core/database/tenant-job.ts';
import { ServiceError } from '../../core/errors/errors.ts';
import { noteArrival } from '../../core/tenants/arrivals.ts';
import {
  computeDigest,
  Digest,
  describeTable,
  identity,
  insertRows,
  isSameRow,
  matchingRows,
  readTablePages,
  SHARED_TABLES,
  TABLES_OF_TENANTS,
  type Table,
  type TextRow,
} from './migrate-rows.ts';

/**
 * Compares a table's rows with the rows that the target has under the same keys. Ignores rows that only exist in the
 * target.
 *
 * @param onPage receives each page, and its rows that are missing in the target
 * @throws ServiceError if a row differs
 */
export async function compareRows(
  from: QueryExecutor,
  to: QueryExecutor,
  table: Table,
  onPage: (rows: TextRow[], missing: TextRow[]) => Promise<void> | void,
): Promise<void> {
  for await (const rows of readTablePages(from, table, null)) {
    const there = await matchingRows(to, table, rows);
    const missing: TextRow[] = [];
    for (const row of rows) {
      const other = there.get(identity(table, row));
      if (other === undefined) missing.push(row);
      else if (!isSameRow(row, other)) throw new ServiceError('target_has_other_data', rowName(table, row));
    }
    await onPage(rows, missing);
  }
}

/**
 * Copies the rows that are missing in the target, and then compares all rows.
 *
 * @throws ServiceError if the target has a different row under the same key
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

/**
 * Returns a readable name for a row in error messages. An API key is not named by its hash, which means little to an
 * operator.
 */
function rowName(table: Table, row: TextRow): string {
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

/** Digests of the rows read from the source, by table. */
export interface MovedTenant {
  /** Whether the target already had all the tenant's rows. */
  wasThere: boolean;
  digests: Map<Table, Digest>;
}

/**
 * Copies a tenant in one transaction, which commits only after the target has the same rows. The target therefore has a
 * tenant completely or not at all, and an interrupted migration continues with the next tenant. The source may change
 * during the copy, because the copy reads one snapshot.
 *
 * @throws ServiceError if the target has different rows for the tenant
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
            ? await computeDigest(from, table, tenant, onRows)
            : await copyRows(from, to, table, tenant, onRows);
          digests.set(table, digest);
          const copy = await computeDigest(to, table, tenant);
          if (copy.sha256 === digest.sha256) continue;
          if (wasThere) throw new ServiceError('target_has_other_data', `tenant ${tenant}`);
          throw new ServiceError('copy_differs', table.name, copy.rows, digest.rows);
        }
        if (!wasThere) await noteArrival(to, tenant);
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
  for await (const rows of readTablePages(from, table, tenant)) {
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
  /** Number of tenants that the target already had. */
  alreadyThere: number;
  rows: number;
  bytes: number;
  /**
   * Row counts and hashes for the tables, which are equal in both databases. Rows are hashed in order by tenant and
   * key.
   */
  tables: { table: string; rows: number; sha256: string }[];
}

/**
 * Copies all data into another database, which is empty or has some data from an interrupted run. Both databases must
 * have this version's schema. Existing data in the target is kept.
 *
 * @returns undefined if another process is migrating data to the target
 * @throws ServiceError if the target has different data for the same tenant, key, event, or day; the target is then
 *   unchanged
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
  // Keys are copied last, because with keys, a service on the target would accept requests.
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

/** @throws ServiceError if the databases have different columns */
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

/**
 * Returns all tenant IDs.
 *
 * @throws ServiceError if the target has a different tenant under the same ID
 */
async function checkedTenants(source: Database, target: Database): Promise<string[]> {
  const table = await describeTable(source.query, 'public.tenants', 'all');
  const ids: string[] = [];
  await compareRows(source.query, target.query, table, (rows) => {
    for (const row of rows) ids.push(identity(table, row));
  });
  return ids;
}

/** Tables with rows without a tenant. The events for deleted tenants and keys are left out, like the change log. */
const WITHOUT_TENANT: ReadonlySet<string> = new Set(['public.tenants', 'public.tenant_events']);

/** Checks that the source has no other rows without a tenant, because the migration does not copy them. */
async function assertNothingLeft(query: QueryExecutor, tables: readonly Table[]): Promise<void> {
  for (const { name } of tables.filter((table) => !WITHOUT_TENANT.has(table.name))) {
    const sql = `SELECT count(*)::int AS rows FROM ${name} AS t WHERE NOT EXISTS (SELECT FROM tenants WHERE id = t.tenant_id)`;
    const left = await query<Record<string, never>, { rows: number }>(
      { name: `migrate_left_${name.replace('public.', '')}`, parameters: [], sql },
      {},
    );
    const rows = left.rows[0]?.rows ?? 0;
    if (rows > 0) throw new ServiceError('rows_without_tenant', name, rows);
  }
}
