import type { Database } from '../database/database.ts';
import { defineQuery, time } from '../database/query.ts';
import { runTenantJob } from '../database/tenant-job.ts';
import { DAY_MS } from '../lib/units.ts';

/** The history limits that apply to a tenant, from its settings or the defaults, and the tenant's history size. */
export interface Retention {
  id: string;
  historyDays: number;
  maxHistoryBytes: number;
  historyBytes: number;
}

const RETENTION = `id, COALESCE(history_days, $historyDays::bigint)::float8 AS "historyDays",
  COALESCE(max_history_bytes, $maxHistoryBytes::bigint)::float8 AS "maxHistoryBytes",
  history_bytes::float8 AS "historyBytes"`;

const tenantsWithHistoryQuery = defineQuery<
  { after: string; historyDays: number; maxHistoryBytes: number; limit: number },
  Retention
>(
  'tenants_with_history',
  `
SELECT ${RETENTION} FROM tenants WHERE id > $after AND history_bytes > 0 ORDER BY id LIMIT $limit
`,
);

const tenantRetentionQuery = defineQuery<
  { tenant: string; historyDays: number; maxHistoryBytes: number },
  Retention
>('tenant_retention', `SELECT ${RETENTION} FROM tenants WHERE id = $tenant`);

/**
 * Prunes a batch by age, and returns the next batch's position, or null at the end. See
 * migrations/functions/memory_prune_history.sql.
 */
const pruneOldQuery = defineQuery<
  { tenant: string; before: string; keep: number; after: string; afterId: string; limit: number },
  { versions: number; bytes: number; after: string | null; afterId: string | null }
>(
  'prune_old',
  `
SELECT versions::float8, bytes::float8, ${time('next_after')} AS "after", next_after_id AS "afterId"
FROM memory_prune_old(
  $tenant, $before::timestamptz, $keep::integer, $after::timestamptz, $afterId::uuid, $limit::integer
)
`,
);

/** Prunes a batch of versions that exceed the byte limit. */
const pruneExcessQuery = defineQuery<
  { tenant: string; maxBytes: number; limit: number },
  { versions: number; bytes: number }
>(
  'prune_excess',
  'SELECT versions::float8, bytes::float8 FROM memory_prune_excess($tenant, $maxBytes::bigint, $limit::integer)',
);

/** Small, so that the tenant's writes never wait long for the job. */
const VERSIONS_A_BATCH = 500;
/** Number of newest versions that an existing file keeps at any age, including the current version. */
const KEPT_OF_A_FILE = 10;

/** A position before every version. Times have microseconds, so '-infinity' cannot be used. */
const START = { after: '0001-01-01T00:00:00.000000Z', afterId: '00000000-0000-0000-0000-000000000000' };

export interface Pruned {
  versions: number;
  bytes: number;
}

const sinceStart: Pruned = { versions: 0, bytes: 0 };

/** Returns how many versions and bytes this replica has pruned, for the metrics. */
export function prunedSinceStart(): Readonly<Pruned> {
  return sinceStart;
}

/**
 * Deletes superseded versions in small batches: first the versions older than the tenant's limit in days, then the
 * oldest ones until the history is within the byte limit. The age does not apply to the newest versions of existing
 * files, unless the tenant keeps no history. If pruning a tenant fails, the job continues with the others and throws
 * the first error at the end.
 *
 * @param options.historyDays default for tenants without this setting; 0 keeps no superseded versions
 * @param options.maxHistoryBytes default for tenants without this setting; 0 means no limit
 * @param options.tenant prunes only this tenant
 * @param options.now defaults to the database's time
 * @returns counts of the deleted versions, or undefined if another replica is running the job
 */
export async function pruneHistory(
  database: Database,
  options: {
    historyDays: number;
    maxHistoryBytes: number;
    tenant?: string | undefined;
    now?: Date;
  },
): Promise<Pruned | undefined> {
  const total: Pruned = { versions: 0, bytes: 0 };
  const count = (batch: Pruned) => {
    total.versions += batch.versions;
    total.bytes += batch.bytes;
    sinceStart.versions += batch.versions;
    sinceStart.bytes += batch.bytes;
  };
  const { historyDays, maxHistoryBytes, tenant, now } = options;
  const defaults = { historyDays, maxHistoryBytes };
  const ran = await runTenantJob<Retention>(database, {
    job: 'history',
    now,
    readTenants: (page) =>
      tenant === undefined
        ? database.query(tenantsWithHistoryQuery, { ...page, ...defaults })
        : database.query(tenantRetentionQuery, { tenant, ...defaults }),
    work: async (retention, now) => {
      await pruneOld(database, retention, now, count);
      await pruneExcess(database, retention, count);
    },
  });
  return ran ? total : undefined;
}

async function pruneOld(
  database: Database,
  { id: tenant, historyDays }: Retention,
  now: Date,
  count: (batch: Pruned) => void,
): Promise<void> {
  const before = new Date(now.getTime() - historyDays * DAY_MS).toISOString();
  const keep = historyDays === 0 ? 0 : KEPT_OF_A_FILE;
  let { after, afterId } = START;
  for (;;) {
    const params = { tenant, before, keep, after, afterId, limit: VERSIONS_A_BATCH };
    const batch = (await database.query(pruneOldQuery, params)).rows[0];
    if (batch === undefined) return;
    count(batch);
    if (batch.after === null || batch.afterId === null) return;
    ({ after, afterId } = { after: batch.after, afterId: batch.afterId });
  }
}

async function pruneExcess(
  database: Database,
  { id: tenant, maxHistoryBytes: maxBytes, historyBytes }: Retention,
  count: (batch: Pruned) => void,
): Promise<void> {
  if (maxBytes === 0 || historyBytes <= maxBytes) return;
  for (;;) {
    const params = { tenant, maxBytes, limit: VERSIONS_A_BATCH };
    const batch = (await database.query(pruneExcessQuery, params)).rows[0];
    if (batch === undefined || batch.bytes === 0) return;
    count(batch);
  }
}
