import { randomUUID } from 'node:crypto';
import type { Database } from '../database/database.ts';
import { defineQuery } from '../database/query.ts';
import { runTenantJob } from '../database/tenant-job.ts';
import { DAY_MS } from '../lib/units.ts';
import { storedOrigin } from '../memory/origin.ts';

interface TenantWithTtl {
  id: string;
  ttlDays: number;
}

/** Reads a page of the tenants whose files expire, ordered by ID. */
const tenantsWithTtlQuery = defineQuery<
  { after: string; defaultTtlDays: number; limit: number },
  TenantWithTtl
>(
  'tenants_with_ttl',
  `
SELECT id, COALESCE(ttl_days, $defaultTtlDays::bigint)::float8 AS "ttlDays" FROM tenants
WHERE id > $after AND COALESCE(ttl_days, $defaultTtlDays::bigint) > 0 ORDER BY id LIMIT $limit
`,
);

const EXPIRED = `kind = 'file' AND accessed_at < $before::timestamptz AND updated_at < $before::timestamptz`;

const countExpiredQuery = defineQuery<{ tenant: string; before: string }, { files: number; bytes: number }>(
  'count_expired',
  `
SELECT count(*)::float8 AS files, coalesce(sum(size_bytes), 0)::float8 AS bytes FROM entries
WHERE tenant_id = $tenant AND ${EXPIRED}
`,
);

/** Deletes a batch of files that were neither read nor written since a time. */
const expireQuery = defineQuery<
  {
    tenant: string;
    before: string;
    limit: number;
    change: string;
    origin: string;
    historyDays: number;
    maxHistoryBytes: number;
  },
  { files: number; bytes: number }
>(
  'expire',
  `
SELECT files::float8, bytes::float8
FROM memory_expire($tenant, $before::timestamptz, $limit::integer, $change::uuid, $historyDays::bigint,
  $maxHistoryBytes::bigint, $origin::jsonb)
`,
);

/** Small batches, so that the tenant's writes never wait long for the job. */
const FILES_A_BATCH = 200;
const ORIGIN = storedOrigin({ actor: { type: 'system', job: 'expiration' } });

/** Files that an expiration deleted, or would delete in a dry run. */
export interface Expired {
  tenants: number;
  files: number;
  bytes: number;
}

/**
 * Deletes the files that were neither read nor written for their tenant's TTL, in small batches. Directories are kept.
 *
 * @param options.defaultTtlDays TTL for tenants without their own setting; 0 keeps their files
 * @param options.historyDays retention period for superseded versions in days, for tenants without their own setting;
 * `maxHistoryBytes` limits their size
 * @param options.now the database's time by default
 * @param options.onTenant called after each tenant with expired files
 * @returns undefined when another process runs the job
 */
export async function expireFiles(
  database: Database,
  options: {
    defaultTtlDays: number;
    historyDays: number;
    maxHistoryBytes: number;
    dryRun?: boolean;
    now?: Date;
    onTenant?: (tenant: string, expired: { files: number; bytes: number }) => void;
  },
): Promise<Expired | undefined> {
  const { defaultTtlDays, dryRun = false, onTenant } = options;
  const total: Expired = { tenants: 0, files: 0, bytes: 0 };
  const ran = await runTenantJob(database, {
    job: 'expiration',
    now: options.now,
    readTenants: (page) => database.query(tenantsWithTtlQuery, { ...page, defaultTtlDays }),
    work: async ({ id, ttlDays }, now) => {
      const before = new Date(now.getTime() - ttlDays * DAY_MS).toISOString();
      const expired = dryRun
        ? await countIn(database, id, before)
        : await expireIn(database, id, before, options);
      if (expired.files === 0) return;
      total.tenants++;
      total.files += expired.files;
      total.bytes += expired.bytes;
      onTenant?.(id, expired);
    },
  });
  return ran ? total : undefined;
}

async function countIn(database: Database, tenant: string, before: string) {
  return (await database.query(countExpiredQuery, { tenant, before })).rows[0] ?? { files: 0, bytes: 0 };
}

async function expireIn(
  database: Database,
  tenant: string,
  before: string,
  { historyDays, maxHistoryBytes }: { historyDays: number; maxHistoryBytes: number },
) {
  const expired = { files: 0, bytes: 0 };
  for (;;) {
    const params = {
      tenant,
      before,
      limit: FILES_A_BATCH,
      change: randomUUID(),
      origin: ORIGIN,
      historyDays,
      maxHistoryBytes,
    };
    const batch = (await database.query(expireQuery, params)).rows[0];
    if (batch === undefined || batch.files === 0) return expired;
    expired.files += batch.files;
    expired.bytes += batch.bytes;
  }
}
