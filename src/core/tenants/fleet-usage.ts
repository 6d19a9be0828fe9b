import type { Config } from '../config.ts';
import { databaseTime } from '../database/clock.ts';
import type { Database } from '../database/database.ts';
import { defineQuery } from '../database/query.ts';
import { runTenantJob } from '../database/tenant-job.ts';
import { DAY_MS } from '../lib/units.ts';
import { tenantDefaults } from './effective-settings.ts';
import { fullnessColumn } from './tenant-listing.ts';
import { DAY, type Days, type Sizes, toDay, type Uses } from './usage.ts';

/** Totals over all tenants. */
export interface FleetTotals extends Sizes {
  tenants: number;
  suspended: number;
  historyVersions: number;
  /** Number of tenants that use at least `nearLimit` percent of their limit on files or bytes. */
  nearLimit: number;
}

const totalsQuery = defineQuery<{ maxFiles: number; maxBytes: number; nearLimit: number }, FleetTotals>(
  'fleet_totals',
  `
SELECT count(*)::float8 AS tenants, count(suspended_at)::float8 AS suspended,
  COALESCE(sum(file_count), 0)::float8 AS files, COALESCE(sum(byte_count), 0)::float8 AS bytes,
  COALESCE(sum(history_versions), 0)::float8 AS "historyVersions",
  COALESCE(sum(history_bytes), 0)::float8 AS "historyBytes",
  COALESCE(
    sum(CASE WHEN ${fullnessColumn('$maxFiles', '$maxBytes')} >= $nearLimit::float8 THEN 1 ELSE 0 END), 0
  )::float8 AS "nearLimit"
FROM tenants WHERE draft_of IS NULL
`,
);

/** @param nearLimit a percentage */
export async function fleetTotals(
  database: Database,
  config: Config,
  nearLimit: number,
): Promise<FleetTotals> {
  const { maxFiles, maxBytes } = tenantDefaults(config);
  const [totals] = (await database.query(totalsQuery, { maxFiles, maxBytes, nearLimit })).rows;
  if (totals === undefined) throw new Error('An aggregate returned no row.');
  return totals;
}

/** Usage by all tenants on one day. Sizes are null if the recording job did not run that day. */
export type FleetDay = {
  /** Day in UTC, such as `2026-11-23`. */
  day: string;
  tenants: number | null;
  suspended: number | null;
  files: number | null;
  bytes: number | null;
  historyBytes: number | null;
  /** Number of tenants that sent a request. */
  active: number;
} & Uses;

const OF_DAYS = `day >= $from::text::date
  AND ($until::text IS NULL OR day::timestamp < $until::text::timestamptz AT TIME ZONE 'UTC')`;

const activityQuery = defineQuery<Days, Pick<FleetDay, 'day' | 'active' | keyof Uses>>(
  'fleet_activity',
  `
SELECT ${DAY}, sum(reads)::float8 AS reads, sum(writes)::float8 AS writes, sum(rejected)::float8 AS rejected,
  sum(CASE WHEN reads + writes + rejected > 0 THEN 1 ELSE 0 END)::float8 AS active
FROM tenant_usage WHERE ${OF_DAYS} GROUP BY day
`,
);

const sizesQuery = defineQuery<Days, Omit<FleetDay, 'active' | keyof Uses>>(
  'fleet_sizes',
  `
SELECT ${DAY}, tenants::float8, suspended::float8, files::float8, bytes::float8,
  history_bytes::float8 AS "historyBytes"
FROM fleet_usage WHERE ${OF_DAYS}
`,
);

const UNRECORDED = { tenants: null, suspended: null, files: null, bytes: null, historyBytes: null };

/** Returns the daily usage by all tenants together, oldest day first. Throws `DatabaseError`. */
export async function fleetDays(database: Database, days: Days): Promise<FleetDay[]> {
  const [activity, sizes] = await Promise.all([
    database.query(activityQuery, days),
    database.query(sizesQuery, days),
  ]);
  const all = new Map<string, FleetDay>();
  for (const row of sizes.rows) all.set(row.day, { ...row, active: 0, reads: 0, writes: 0, rejected: 0 });
  for (const row of activity.rows) all.set(row.day, { ...(all.get(row.day) ?? UNRECORDED), ...row });
  return [...all.values()].sort((a, b) => (a.day < b.day ? -1 : 1));
}

const mostActiveQuery = defineQuery<Days & { limit: number }, Uses & { tenant: string }>(
  'most_active_tenants',
  `
SELECT tenant_id AS tenant, sum(reads)::float8 AS reads, sum(writes)::float8 AS writes, sum(rejected)::float8 AS rejected
FROM tenant_usage WHERE ${OF_DAYS} AND reads + writes + rejected > 0
GROUP BY tenant_id ORDER BY sum(reads + writes + rejected) DESC, tenant_id LIMIT $limit::bigint
`,
);

/** Lists the tenants with the most uses in a period, in descending order. Throws `DatabaseError`. */
export async function mostActive(
  database: Database,
  days: Days,
  limit: number,
): Promise<(Uses & { tenant: string })[]> {
  return (await database.query(mostActiveQuery, { ...days, limit })).rows;
}

const tenantIdsQuery = defineQuery<{ after: string; limit: number }, { id: string }>(
  'tenant_ids',
  'SELECT id FROM tenants WHERE id > $after AND draft_of IS NULL ORDER BY id LIMIT $limit::bigint',
);

/** Records a tenant's sizes, unless they equal the sizes on its latest day. */
const recordSizesQuery = defineQuery<{ tenant: string; day: string }>(
  'record_sizes',
  `
INSERT INTO tenant_usage AS u (tenant_id, day, files, bytes, history_bytes, reads, writes, rejected)
SELECT id, $day::text::date, file_count, byte_count, history_bytes, 0, 0, 0 FROM tenants AS t
WHERE id = $tenant AND NOT EXISTS (
  SELECT FROM (SELECT * FROM tenant_usage WHERE tenant_id = $tenant ORDER BY day DESC LIMIT 1) AS latest
  WHERE files = t.file_count AND bytes = t.byte_count AND history_bytes = t.history_bytes
)
ON CONFLICT (tenant_id, day) DO UPDATE SET
  files = excluded.files, bytes = excluded.bytes, history_bytes = excluded.history_bytes
`,
);

const pruneUsageQuery = defineQuery<{ tenant: string; before: string }>(
  'prune_usage',
  'DELETE FROM tenant_usage WHERE tenant_id = $tenant AND day < $before::text::date',
);

const recordFleetQuery = defineQuery<{ day: string; tenants: number; suspended: number } & Sizes>(
  'record_fleet',
  `
INSERT INTO fleet_usage (day, tenants, suspended, files, bytes, history_bytes)
VALUES ($day::text::date, $tenants::bigint, $suspended::bigint, $files::bigint, $bytes::bigint, $historyBytes::bigint)
ON CONFLICT (day) DO UPDATE SET
  tenants = excluded.tenants, suspended = excluded.suspended, files = excluded.files, bytes = excluded.bytes,
  history_bytes = excluded.history_bytes
`,
);

const pruneFleetQuery = defineQuery<{ before: string }>(
  'prune_fleet_usage',
  'DELETE FROM fleet_usage WHERE day < $before::text::date',
);

/**
 * Records today's total sizes for all tenants, and the sizes for each tenant whose sizes changed without a request, for
 * example by expiration. Deletes days older than `USAGE_DAYS`.
 *
 * @returns false if another replica is running the job
 */
export async function recordSizes(database: Database, config: Config, at?: Date): Promise<boolean> {
  const now = at ?? (await databaseTime(database));
  const day = toDay(now);
  const before = toDay(new Date(now.getTime() - config.USAGE_DAYS * DAY_MS));
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
