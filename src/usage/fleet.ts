import type { Config } from '../config.ts';
import type { Database } from '../postgres/database.ts';
import { defineQuery } from '../postgres/query.ts';
import { tenantDefaults } from '../tenants/effective-settings.ts';
import { fullnessColumn } from '../tenants/listing-queries.ts';
import type { Days, Sizes } from './days.ts';
import type { Uses } from './uses.ts';

/** The sum of all tenants. */
export interface FleetTotals extends Sizes {
  tenants: number;
  suspended: number;
  historyVersions: number;
  /** Tenants that use at least this percentage of their limit on files or bytes. */
  nearLimit: number;
}

const totalsQuery = defineQuery<{ maxFiles: number; maxBytes: number; nearLimit: number }, FleetTotals>(
  'fleet_totals',
  ['maxFiles', 'maxBytes', 'nearLimit'],
  `
SELECT count(*)::float8 AS tenants, count(suspended_at)::float8 AS suspended,
  COALESCE(sum(file_count), 0)::float8 AS files, COALESCE(sum(byte_count), 0)::float8 AS bytes,
  COALESCE(sum(history_versions), 0)::float8 AS "historyVersions", COALESCE(sum(history_bytes), 0)::float8 AS "historyBytes",
  COALESCE(sum(CASE WHEN ${fullnessColumn('$1', '$2')} >= $3::float8 THEN 1 ELSE 0 END), 0)::float8 AS "nearLimit"
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

/** A day of all tenants. The sizes are null for a day on which the job that records them did not run. */
export type FleetDay = {
  /** `2026-11-23`, by UTC. */
  day: string;
  tenants: number | null;
  suspended: number | null;
  files: number | null;
  bytes: number | null;
  historyBytes: number | null;
  /** Tenants that sent a request. */
  active: number;
} & Uses;

const OF_DAYS = `day >= $1::text::date
  AND ($2::text IS NULL OR day::timestamp < $2::text::timestamptz AT TIME ZONE 'UTC')`;

const activityQuery = defineQuery<Days, Pick<FleetDay, 'day' | 'active' | keyof Uses>>(
  'fleet_activity',
  ['from', 'until'],
  `
SELECT day::text, sum(reads)::float8 AS reads, sum(writes)::float8 AS writes, sum(refused)::float8 AS refused,
  sum(CASE WHEN reads + writes + refused > 0 THEN 1 ELSE 0 END)::float8 AS active
FROM tenant_usage WHERE ${OF_DAYS} GROUP BY day
`,
);

const sizesQuery = defineQuery<Days, Omit<FleetDay, 'active' | keyof Uses>>(
  'fleet_sizes',
  ['from', 'until'],
  `
SELECT day::text, tenants::float8, suspended::float8, files::float8, bytes::float8, history_bytes::float8 AS "historyBytes"
FROM fleet_usage WHERE ${OF_DAYS}
`,
);

const UNRECORDED = { tenants: null, suspended: null, files: null, bytes: null, historyBytes: null };

/** What all tenants together used, the oldest day first. Throws `DatabaseError`. */
export async function fleetDays(database: Database, days: Days): Promise<FleetDay[]> {
  const [activity, sizes] = await Promise.all([
    database.query(activityQuery, days),
    database.query(sizesQuery, days),
  ]);
  const all = new Map<string, FleetDay>();
  for (const row of sizes.rows) all.set(row.day, { ...row, active: 0, reads: 0, writes: 0, refused: 0 });
  for (const row of activity.rows) all.set(row.day, { ...(all.get(row.day) ?? UNRECORDED), ...row });
  return [...all.values()].sort((a, b) => (a.day < b.day ? -1 : 1));
}

const mostActiveQuery = defineQuery<Days & { limit: number }, Uses & { tenant: string }>(
  'most_active_tenants',
  ['from', 'until', 'limit'],
  `
SELECT tenant_id AS tenant, sum(reads)::float8 AS reads, sum(writes)::float8 AS writes, sum(refused)::float8 AS refused
FROM tenant_usage WHERE ${OF_DAYS} AND reads + writes + refused > 0
GROUP BY tenant_id ORDER BY sum(reads + writes + refused) DESC, tenant_id LIMIT $3::bigint
`,
);

/** The tenants that were used most in these days, most first. Throws `DatabaseError`. */
export async function mostActive(
  database: Database,
  days: Days,
  limit: number,
): Promise<(Uses & { tenant: string })[]> {
  return (await database.query(mostActiveQuery, { ...days, limit })).rows;
}
