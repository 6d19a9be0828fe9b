import type { Config } from '../config.ts';
import { databaseTime } from '../postgres/clock.ts';
import type { Database } from '../postgres/database.ts';
import { defineQuery } from '../postgres/query.ts';
import { runTenantJob } from '../postgres/tenant-job.ts';
import { DAY_MS } from '../util/duration.ts';
import { dayOf, type Sizes } from './days.ts';
import { fleetTotals } from './fleet.ts';

const tenantIdsQuery = defineQuery<{ after: string; limit: number }, { id: string }>(
  'tenant_ids',
  ['after', 'limit'],
  'SELECT id FROM tenants WHERE id > $1 AND draft_of IS NULL ORDER BY id LIMIT $2::bigint',
);

/** Records the sizes of a tenant, unless they are those of its latest day. */
const recordSizesQuery = defineQuery<{ tenant: string; day: string }>(
  'record_sizes',
  ['tenant', 'day'],
  `
INSERT INTO tenant_usage AS u (tenant_id, day, files, bytes, history_bytes, reads, writes, refused)
SELECT id, $2::text::date, file_count, byte_count, history_bytes, 0, 0, 0 FROM tenants AS t
WHERE id = $1 AND NOT EXISTS (
  SELECT FROM (SELECT * FROM tenant_usage WHERE tenant_id = $1 ORDER BY day DESC LIMIT 1) AS latest
  WHERE files = t.file_count AND bytes = t.byte_count AND history_bytes = t.history_bytes
)
ON CONFLICT (tenant_id, day) DO UPDATE SET
  files = excluded.files, bytes = excluded.bytes, history_bytes = excluded.history_bytes
`,
);

const pruneUsageQuery = defineQuery<{ tenant: string; before: string }>(
  'prune_usage',
  ['tenant', 'before'],
  'DELETE FROM tenant_usage WHERE tenant_id = $1 AND day < $2::text::date',
);

const recordFleetQuery = defineQuery<{ day: string; tenants: number; suspended: number } & Sizes>(
  'record_fleet',
  ['day', 'tenants', 'suspended', 'files', 'bytes', 'historyBytes'],
  `
INSERT INTO fleet_usage (day, tenants, suspended, files, bytes, history_bytes)
VALUES ($1::text::date, $2::bigint, $3::bigint, $4::bigint, $5::bigint, $6::bigint)
ON CONFLICT (day) DO UPDATE SET
  tenants = excluded.tenants, suspended = excluded.suspended, files = excluded.files, bytes = excluded.bytes,
  history_bytes = excluded.history_bytes
`,
);

const pruneFleetQuery = defineQuery<{ before: string }>(
  'prune_fleet_usage',
  ['before'],
  'DELETE FROM fleet_usage WHERE day < $1::text::date',
);

/**
 * Records today's sizes of all tenants together and of each whose sizes changed without a request, as by expiration, and deletes the days of
 * more than `USAGE_DAYS` ago.
 *
 * @returns false when another process is doing it
 */
export async function recordSizes(database: Database, config: Config, at?: Date): Promise<boolean> {
  const now = at ?? (await databaseTime(database));
  const day = dayOf(now);
  const before = dayOf(new Date(now.getTime() - config.USAGE_DAYS * DAY_MS));
  const ran = await runTenantJob(database, {
    job: 'usage',
    now,
    readTenants: (page) => database.query(tenantIdsQuery, page),
    work: async ({ id: tenant }) => {
      await database.query(recordSizesQuery, { tenant, day });
      await database.query(pruneUsageQuery, { tenant, before });
    },
  });
  if (!ran) return false;
  const { tenants, suspended, files, bytes, historyBytes } = await fleetTotals(database, config, 100);
  await database.query(recordFleetQuery, { day, tenants, suspended, files, bytes, historyBytes });
  await database.query(pruneFleetQuery, { before });
  return true;
}
