import type { Database } from '../database/database.ts';
import { defineQuery, time } from '../database/query.ts';
import { runTenantJob } from '../database/tenant-job.ts';
import { DAY_MS } from '../lib/units.ts';

/** What a tenant keeps of its history, by limits of its own or the given ones, and how much it has. */
export interface Retention {
  id: string;
  historyDays: number;
  maxHistoryBytes: number;
  historyBytes: number;
}

const RETENTION = `id, COALESCE(history_days, $historyDays::bigint)::float8 AS "historyDays",
  COALESCE(max_history_bytes, $maxHistoryBytes::bigint)::float8 AS "maxHistoryBytes", history_bytes::float8 AS "historyBytes"`;

/** The tenants that have a history, in the order of their ids, a page at a time. */
const tenantsWithHistoryQuery = defineQuery<
  { after: string; historyDays: number; maxHistoryBytes: number; limit: number },
  Retention
>(
  'tenants_with_history',
  `
SELECT ${RETENTION} FROM tenants WHERE id > $after AND history_bytes > 0 ORDER BY id LIMIT $limit
`,
);

/** The same for one tenant, with a history or not. */
const tenantRetentionQuery = defineQuery<
  { tenant: string; historyDays: number; maxHistoryBytes: number },
  Retention
>('tenant_retention', `SELECT ${RETENTION} FROM tenants WHERE id = $tenant`);

/**
 * Prunes a batch by age, and says after which version to go on; null at the end. See
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
  $tenant, $before::timestamptz, $keep::integer, $after::timestamptz, $afterId::text::uuid, $limit::integer
)
`,
);

/** Prunes a batch of what is over the limit of bytes; nothing when the limit holds. */
const pruneExcessQuery = defineQuery<
  { tenant: string; maxBytes: number; limit: number },
  { versions: number; bytes: number }
>(
  'prune_excess',
  'SELECT versions::float8, bytes::float8 FROM memory_prune_excess($tenant, $maxBytes::bigint, $limit::integer)',
);

/** Small enough that a tenant's own writes never wait long for the job. */
const VERSIONS_A_BATCH = 500;
/** Of a live file, whatever their age; the head is one of them. */
const KEPT_OF_A_FILE = 10;

/** Before every version: '-infinity' would not be a time to the microsecond. */
const START = { after: '0001-01-01T00:00:00.000000Z', afterId: '00000000-0000-0000-0000-000000000000' };

export interface Pruned {
  versions: number;
  bytes: number;
}

const sinceStart: Pruned = { versions: 0, bytes: 0 };

/** What this process has pruned, for the metrics. */
export function prunedSinceStart(): Readonly<Pruned> {
  return sinceStart;
}

/**
 * Deletes superseded versions that are older than a tenant keeps them, and then the oldest until its history is
 * within its bytes, in small batches. The last versions of a live file are kept whatever their age, except where a
 * tenant keeps no history. A tenant that cannot be pruned does not keep the job from the others; the first such fault
 * is thrown at the end.
 *
 * @param options.historyDays for tenants without a setting of their own; 0: keep none
 * @param options.maxHistoryBytes for tenants without a setting of their own; 0: no limit
 * @param options.tenant only this one
 * @param options.now by default the database's time
 * @returns what was deleted, or undefined when another process is at it.
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
