import type { Config } from '../config.ts';
import type { Database } from '../database/database.ts';
import { defineQuery } from '../database/query.ts';
import { DAY_MS } from '../lib/units.ts';
import { WriteBehindBuffer } from '../lib/write-behind-buffer.ts';
import { effectiveSettings } from './effective-settings.ts';
import type { TenantRow } from './queries.ts';
import type { Tenants } from './tenants.ts';

/** Usage of a limited resource. A null limit means no limit. */
export interface Used {
  used: number;
  limit: number | null;
}

export interface Usage {
  files: Used;
  bytes: Used;
  historyBytes: Used;
  historyVersions: number;
  /** Number of results stored under idempotency keys. */
  storedResults: number;
  lastActivityAt: Date | null;
}

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

export type Sizes = {
  files: number;
  bytes: number;
  historyBytes: number;
};

/** A tenant's usage on one day. Days without uses and without size changes have no row. */
export interface UsageDay extends Sizes, Uses {
  /** Day in UTC, such as `2026-11-23`. */
  day: string;
}

/** Returns the UTC day for a time, such as `2026-11-23`. */
export function toDay(time: Date): string {
  return time.toISOString().slice(0, 10);
}

/**
 * Adds uses to a tenant's usage on one day, with the tenant's current sizes. `createdAt` must match the tenant's
 * creation time, unless it is null. A missing tenant is ignored.
 */
export const recordUsageQuery = defineQuery<{ tenant: string; day: string; createdAt: string | null } & Uses>(
  'record_usage',
  `
INSERT INTO tenant_usage AS u (tenant_id, day, files, bytes, history_bytes, reads, writes, rejected)
SELECT id, $day::text::date, file_count, byte_count, history_bytes, $reads::bigint, $writes::bigint, $rejected::bigint
FROM tenants
WHERE id = $tenant AND ($createdAt::text::timestamptz IS NULL OR created_at = $createdAt::text::timestamptz)
ON CONFLICT (tenant_id, day) DO UPDATE SET
  files = excluded.files, bytes = excluded.bytes, history_bytes = excluded.history_bytes,
  reads = u.reads + excluded.reads, writes = u.writes + excluded.writes, rejected = u.rejected + excluded.rejected
`,
);

/** Formats a day in SQL. */
export const DAY = `to_char(day, 'YYYY-MM-DD') AS day`;

/** Days starting with the day `from` and before the time `until`. */
export type Days = { from: string; until: string | null };

const daysQuery = defineQuery<{ tenant: string } & Days, UsageDay>(
  'list_usage_days',
  `
SELECT ${DAY}, files::float8, bytes::float8, history_bytes::float8 AS "historyBytes",
  reads::float8, writes::float8, rejected::float8
FROM tenant_usage
WHERE tenant_id = $tenant AND day >= $from::text::date
  AND ($until::text IS NULL OR day::timestamp < $until::text::timestamptz AT TIME ZONE 'UTC')
ORDER BY tenant_usage.day
`,
);

/** Returns a tenant's daily usage, oldest day first. Throws `DatabaseError`. */
export async function usageDays(database: Database, tenant: string, days: Days): Promise<UsageDay[]> {
  return (await database.query(daysQuery, { tenant, ...days })).rows;
}

/** Returns the days in a period: the day of `since`, and all later days that start before `until`. */
export function toDays({ since, until }: { since: string; until: string | undefined }): Days {
  return { from: since.slice(0, 10), until: until ?? null };
}

const FLUSH_INTERVAL_MS = 60_000;
/** Maximum number of tenants counted between two flushes. Uses by further tenants are not counted. */
const MAX_TENANTS = 100_000;

interface Counted extends Uses {
  tenant: string;
  /**
   * The tenant's creation time, to distinguish a later tenant with the same ID. Null if unknown or the tenant did not
   * exist yet.
   */
  createdAt: string | null;
  /** Day in UTC, such as `2026-11-23`. */
  day: string;
}

/**
 * Counts tenants' uses in memory, and adds the counts to the database once a minute, so that requests cost no write. If
 * the process is killed, counts since the last flush are lost.
 */
export class UsageCounts {
  readonly #database: Database;
  readonly #counts = new WriteBehindBuffer<Counted>((counted) => this.#write(counted), MAX_TENANTS, {
    flushMs: FLUSH_INTERVAL_MS,
    merge: (buffered, { reads, writes, rejected }) => {
      buffered.reads += reads;
      buffered.writes += writes;
      buffered.rejected += rejected;
      return buffered;
    },
  });
  #isClosed = false;
  /** The current day. Each request reads it, and formatting it takes longer than the rest of the count. */
  #today = { number: 0, name: '' };

  constructor(database: Database) {
    this.#database = database;
  }

  add(tenant: string, createdAt: string | null, uses: Uses): void {
    const now = Date.now();
    const number = Math.floor(now / DAY_MS);
    if (number !== this.#today.number) this.#today = { number, name: toDay(new Date(now)) };
    this.#add({ tenant, createdAt, day: this.#today.name, ...uses });
  }

  flush(): Promise<void> {
    return this.#counts.flush();
  }

  /** Writes pending counts a last time, without retrying failed writes. */
  close(): Promise<void> {
    this.#isClosed = true;
    return this.flush();
  }

  #add(counted: Counted): void {
    // The slash is a safe separator: no tenant ID contains it.
    this.#counts.add(`${counted.day}/${counted.tenant}/${counted.createdAt}`, counted);
  }

  /** One statement per tenant, because tenants are on different Citus shards. */
  async #write(all: Counted[]): Promise<void> {
    for (const counted of all) {
      try {
        await this.#database.query(recordUsageQuery, { ...counted });
      } catch {
        // The database may be unavailable. The next flush retries the write.
        if (!this.#isClosed) this.#add(counted);
      }
    }
  }
}

/** A tenant's usage counts: reading calls, writing calls, and rejected requests and calls. */
export type Uses = {
  reads: number;
  writes: number;
  rejected: number;
};
