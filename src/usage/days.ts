import type { Database } from '../postgres/database.ts';
import { defineQuery } from '../postgres/query.ts';
import type { Uses } from './uses.ts';

/** The sizes of a tenant, or of all of them. */
export type Sizes = {
  files: number;
  bytes: number;
  historyBytes: number;
};

/** What a tenant used on a day. A day without uses and without a change of the sizes has no row. */
export interface UsageDay extends Sizes, Uses {
  /** `2026-11-23`, by UTC. */
  day: string;
}

/** The day of a time, by UTC: `2026-11-23`. */
export function dayOf(time: Date): string {
  return time.toISOString().slice(0, 10);
}

/** Adds uses to a day of a tenant, with its current sizes; does nothing if the tenant does not exist. */
export const recordUsageQuery = defineQuery<{ tenant: string; day: string } & Uses>(
  'record_usage',
  ['tenant', 'day', 'reads', 'writes', 'refused'],
  `
INSERT INTO tenant_usage AS u (tenant_id, day, files, bytes, history_bytes, reads, writes, refused)
SELECT id, $2::text::date, file_count, byte_count, history_bytes, $3::bigint, $4::bigint, $5::bigint FROM tenants WHERE id = $1
ON CONFLICT (tenant_id, day) DO UPDATE SET
  files = excluded.files, bytes = excluded.bytes, history_bytes = excluded.history_bytes,
  reads = u.reads + excluded.reads, writes = u.writes + excluded.writes, refused = u.refused + excluded.refused
`,
);

/** The days from `from` and before the time `until`. */
export type Days = { from: string; until: string | null };

const daysQuery = defineQuery<{ tenant: string } & Days, UsageDay>(
  'list_usage_days',
  ['tenant', 'from', 'until'],
  `
SELECT day::text, files::float8, bytes::float8, history_bytes::float8 AS "historyBytes",
  reads::float8, writes::float8, refused::float8
FROM tenant_usage
WHERE tenant_id = $1 AND day >= $2::text::date
  AND ($3::text IS NULL OR day::timestamp < $3::text::timestamptz AT TIME ZONE 'UTC')
ORDER BY day
`,
);

/** What a tenant used, the oldest day first. Throws `DatabaseError`. */
export async function usageDays(database: Database, tenant: string, days: Days): Promise<UsageDay[]> {
  return (await database.query(daysQuery, { tenant, ...days })).rows;
}

/** The days of a span of time: that of `since`, and those that begin before `until`. */
export function daysOf({ since, until }: { since: string; until: string | undefined }): Days {
  return { from: since.slice(0, 10), until: until ?? null };
}
