import type { Config } from '../config.ts';
import type { Database } from '../database/database.ts';
import { defineQuery } from '../database/query.ts';
import { WriteBehindBuffer } from '../lib/write-behind-buffer.ts';
import { effectiveSettings } from './effective-settings.ts';
import type { TenantRow } from './queries.ts';
import type { Tenants } from './tenants.ts';

/** How much of a limit is used; a null limit is none. */
export interface Used {
  used: number;
  limit: number | null;
}

export interface Usage {
  files: Used;
  bytes: Used;
  historyBytes: Used;
  historyVersions: number;
  /** Under idempotency keys. */
  storedResults: number;
  lastActivityAt: Date | null;
}

/** What a tenant uses of its limits. */
export async function tenantUsage(tenants: Tenants, config: Config, row: TenantRow): Promise<Usage> {
  const { maxFiles, maxBytes, maxHistoryBytes } = effectiveSettings(row, config);
  const [storedResults, lastActivityAt] = await Promise.all([
    tenants.countStoredResults(row.id),
    tenants.lastActivity(row.id),
  ]);
  return {
    files: { used: row.files, limit: maxFiles || null },
    bytes: { used: row.bytes, limit: maxBytes || null },
    historyBytes: { used: row.historyBytes, limit: maxHistoryBytes || null },
    historyVersions: row.historyVersions,
    storedResults,
    lastActivityAt,
  };
}

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

/**
 * Adds uses to a day of the tenant that was created at `createdAt` (null: any), with its current sizes; does nothing
 * if it does not exist.
 */
export const recordUsageQuery = defineQuery<{ tenant: string; day: string; createdAt: string | null } & Uses>(
  'record_usage',
  `
INSERT INTO tenant_usage AS u (tenant_id, day, files, bytes, history_bytes, reads, writes, refused)
SELECT id, $day::text::date, file_count, byte_count, history_bytes, $reads::bigint, $writes::bigint, $refused::bigint FROM tenants
WHERE id = $tenant AND ($createdAt::text::timestamptz IS NULL OR created_at = $createdAt::text::timestamptz)
ON CONFLICT (tenant_id, day) DO UPDATE SET
  files = excluded.files, bytes = excluded.bytes, history_bytes = excluded.history_bytes,
  reads = u.reads + excluded.reads, writes = u.writes + excluded.writes, refused = u.refused + excluded.refused
`,
);

/** The days from `from` and before the time `until`. */
export type Days = { from: string; until: string | null };

const daysQuery = defineQuery<{ tenant: string } & Days, UsageDay>(
  'list_usage_days',
  `
SELECT day::text, files::float8, bytes::float8, history_bytes::float8 AS "historyBytes",
  reads::float8, writes::float8, refused::float8
FROM tenant_usage
WHERE tenant_id = $tenant AND day >= $from::text::date
  AND ($until::text IS NULL OR day::timestamp < $until::text::timestamptz AT TIME ZONE 'UTC')
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

const FLUSH_INTERVAL_MS = 60_000;
/** Maximum number of tenants that are counted between two flushes. The uses of further ones are not counted. */
const MAX_TENANTS = 100_000;

interface Counted extends Uses {
  tenant: string;
  /** When the tenant was created: a later one with its id is another one. Null: not known, or it did not exist yet. */
  createdAt: string | null;
  /** `2026-11-23`, by UTC. */
  day: string;
}

/**
 * Counts in memory how often tenants are used, and adds the counts to the rows of their days once a minute, so that
 * requests cost no write. Counts since the last flush are lost when the process is killed.
 */
export class UsageCounts {
  readonly #database: Database;
  readonly #counts = new WriteBehindBuffer<Counted>((counted) => this.#write(counted), MAX_TENANTS, {
    flushMs: FLUSH_INTERVAL_MS,
    merge: (buffered, { reads, writes, refused }) => {
      buffered.reads += reads;
      buffered.writes += writes;
      buffered.refused += refused;
      return buffered;
    },
  });
  #isClosed = false;

  constructor(database: Database) {
    this.#database = database;
  }

  add(tenant: string, createdAt: string | null, uses: Uses): void {
    this.#add({ tenant, createdAt, day: dayOf(new Date()), ...uses });
  }

  /** Writes what was counted. */
  flush(): Promise<void> {
    return this.#counts.flush();
  }

  /** Writes what was counted, for the last time. */
  close(): Promise<void> {
    this.#isClosed = true;
    return this.flush();
  }

  #add(counted: Counted): void {
    // A tenant ID has no slash.
    this.#counts.add(`${counted.day}/${counted.tenant}/${counted.createdAt}`, counted);
  }

  /** One statement a tenant: on Citus, each is on another shard. */
  async #write(all: Counted[]): Promise<void> {
    for (const counted of all) {
      try {
        await this.#database.query(recordUsageQuery, { ...counted });
      } catch {
        // The database may be unavailable: the next flush tries again.
        if (!this.#isClosed) this.#add(counted);
      }
    }
  }
}

/**
 * How often a tenant was used: by calls that read, by calls that write, and by requests and calls that were refused.
 */
export type Uses = {
  reads: number;
  writes: number;
  refused: number;
};
