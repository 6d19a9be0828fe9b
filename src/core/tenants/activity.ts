import { randomUUID } from 'node:crypto';
import type { Database } from '../database/database.ts';
import { defineQuery, time } from '../database/query.ts';
import { version } from '../lib/service-version.ts';
import { DAY_MS } from '../lib/units.ts';
import { type Actor, actorId, storedActor } from '../memory/origin.ts';
import type { Uses } from './usage.ts';

/*
 * Activity in the last hour. Each replica counts calls in memory, in five-minute slots, and writes its counts to a
 * separate row, so that calls cost no statement and replicas never wait for each other.
 */

const HOUR_MS = DAY_MS / 24;
const SLOT_MS = HOUR_MS / 12;
/** Maximum different calls that a slot counts in memory. Further calls count in the totals only. */
const MAX_CALLS = 10_000;
/** Maximum different calls in a row, each with and without a rejection. */
const STORED_CALLS = 100;
/** Silence after which a replica counts as stopped. Replicas write every 15 seconds. */
const SILENCE_MS = 60_000;
/** Ratio between the ends of a duration range, which is the accuracy of the percentiles. */
const RANGE_RATIO = 1.1;
const SHORTEST_MS = 0.01;

const recordQuery = defineQuery<
  Uses & {
    slot: string;
    replica: string;
    version: string;
    startedAt: string;
    seenAt: string | null;
    calls: string;
    durations: string;
  }
>(
  'record_activity',
  `
INSERT INTO activity (slot, replica, version, started_at, seen_at, reads, writes, rejected, calls, durations)
VALUES ($slot::text::timestamptz, $replica::text::uuid, $version, $startedAt::text::timestamptz,
  $seenAt::text::timestamptz, $reads::bigint, $writes::bigint, $rejected::bigint, $calls::text::jsonb,
  $durations::text::jsonb)
ON CONFLICT (slot, replica) DO UPDATE SET
  seen_at = excluded.seen_at, reads = excluded.reads, writes = excluded.writes, rejected = excluded.rejected,
  calls = excluded.calls, durations = excluded.durations
`,
);

const pruneQuery = defineQuery<{ before: string }>(
  'prune_activity',
  'DELETE FROM activity WHERE slot < $before::text::timestamptz',
);

/** Removes a tenant's calls. A replica that counted some in the current slot writes them once more. */
export const forgetActivityQuery = defineQuery<{ tenant: string }>(
  'forget_activity',
  `
UPDATE activity SET calls = COALESCE(
  (SELECT jsonb_agg(c) FROM jsonb_array_elements(calls) AS c WHERE c ->> 'tenant' IS DISTINCT FROM $tenant), '[]'
)
WHERE calls @> jsonb_build_array(jsonb_build_object('tenant', $tenant::text))
`,
);

/** Calls by an actor in a tenant. Both are null for calls whose caller is unknown. */
export interface Calls {
  tenant: string | null;
  actor: Actor | null;
}

interface Counted extends Calls {
  /** Error code; null for calls that were executed. */
  reason: string | null;
  reads: number;
  writes: number;
  rejected: number;
}

interface Slot {
  uses: Uses;
  /** By tenant, actor, and reason. */
  calls: Map<string, Counted>;
  /** Number of executions by command and duration range. */
  durations: Map<string, Map<number, number>>;
}

/** Counts the calls to this replica. If the process is killed, calls since the last flush are lost. */
export class Activity {
  readonly #database: Database;
  readonly #replica = randomUUID();
  readonly #startedAt = new Date().toISOString();
  /** By number since 1970. Earlier slots stay until they are written. */
  readonly #slots = new Map<number, Slot>();
  #isClosed = false;

  constructor(database: Database) {
    this.#database = database;
  }

  /** @param rejections error codes */
  add(
    { tenant, actor }: Calls,
    { reads, writes }: Omit<Uses, 'rejected'>,
    rejections: readonly string[],
  ): void {
    if (reads + writes + rejections.length === 0) return;
    const slot = this.#currentSlot();
    const caller = `${tenant} ${actor && actorId(actor)}`;
    if (reads + writes > 0) count(slot, caller, { tenant, actor, reason: null, reads, writes, rejected: 0 });
    for (const reason of rejections)
      count(slot, `${caller} ${reason}`, { tenant, actor, reason, reads: 0, writes: 0, rejected: 1 });
  }

  addDuration(command: string, seconds: number): void {
    const { durations } = this.#currentSlot();
    const ranges = durations.get(command) ?? new Map<number, number>();
    durations.set(command, ranges);
    const range = Math.ceil(Math.log(Math.max(seconds * 1000, SHORTEST_MS)) / Math.log(RANGE_RATIO));
    ranges.set(range, (ranges.get(range) ?? 0) + 1);
  }

  /** Writes the counts, and deletes the rows from more than an hour ago. */
  async flush(): Promise<void> {
    const seenAt = this.#isClosed ? null : new Date().toISOString();
    const current = this.#currentSlot();
    const [replica, startedAt] = [this.#replica, this.#startedAt];
    for (const [number, slot] of this.#slots) {
      await this.#database.query(recordQuery, {
        ...{ slot: slotTime(number), replica, version, startedAt, seenAt },
        ...slot.uses,
        calls: JSON.stringify([...mostFrequent(slot, false), ...mostFrequent(slot, true)]),
        durations: JSON.stringify(
          [...slot.durations].flatMap(([command, ranges]) =>
            [...ranges].map(([range, calls]) => ({ command, range, calls })),
          ),
        ),
      });
      if (slot !== current) this.#slots.delete(number);
    }
    await this.#database.query(pruneQuery, { before: activitySince() });
  }

  /** Writes the counts a last time. A failure drops them. */
  async close(): Promise<void> {
    this.#isClosed = true;
    if (this.#slots.size > 0) await this.flush().catch(() => {});
  }

  #currentSlot(): Slot {
    const number = toSlot(Date.now());
    const found = this.#slots.get(number);
    if (found !== undefined) return found;
    const slot = newSlot();
    this.#slots.set(number, slot);
    // Slots collect while the database is unavailable.
    for (const each of this.#slots.keys()) if (each < toSlot(Date.now() - HOUR_MS)) this.#slots.delete(each);
    return slot;
  }
}

const toSlot = (time: number) => Math.floor(time / SLOT_MS);
const slotTime = (number: number) => new Date(number * SLOT_MS).toISOString();
const newSlot = (): Slot => ({
  uses: { reads: 0, writes: 0, rejected: 0 },
  calls: new Map(),
  durations: new Map(),
});

/** Returns the start time for the oldest slot in the last hour. */
export function activitySince(): string {
  return slotTime(toSlot(Date.now() - HOUR_MS));
}

function count({ uses, calls }: Slot, key: string, counted: Counted): void {
  const found = calls.get(key);
  for (const sum of found === undefined ? [uses] : [uses, found]) {
    sum.reads += counted.reads;
    sum.writes += counted.writes;
    sum.rejected += counted.rejected;
  }
  if (found === undefined && calls.size < MAX_CALLS) calls.set(key, counted);
}

const addUp = ({ reads, writes, rejected }: Uses) => reads + writes + rejected;

/** Returns the most frequent rejections, or the most frequent other calls, as stored in the row. */
function mostFrequent({ calls }: Slot, areRejected: boolean): object[] {
  return [...calls.values()]
    .filter(({ reason }) => (reason !== null) === areRejected)
    .sort((one, other) => addUp(other) - addUp(one))
    .slice(0, STORED_CALLS)
    .map(({ actor, ...rest }) => ({ ...rest, actor: actor && JSON.parse(storedActor(actor)) }));
}

/** A replica that runs. Times are ISO 8601. */
export interface Replica {
  id: string;
  version: string;
  startedAt: string;
  seenAt: string;
}

const replicasQuery = defineQuery<{ seenSince: string }, Replica>(
  'list_replicas',
  `
SELECT replica::text AS id, version, ${time('started_at')} AS "startedAt", ${time('seen_at')} AS "seenAt"
FROM (SELECT DISTINCT ON (replica) * FROM activity ORDER BY replica, slot DESC) AS latest
WHERE seen_at >= $seenSince::text::timestamptz ORDER BY started_at, replica
`,
);

const serverVersionQuery = defineQuery<Record<string, never>, { version: string }>(
  'server_version',
  `SELECT current_setting('server_version') AS version`,
);

/** Returns the replicas that run, and the database server's version. Throws `DatabaseError`. */
export async function runningServers(
  database: Database,
): Promise<{ replicas: Replica[]; databaseVersion: string }> {
  const seenSince = new Date(Date.now() - SILENCE_MS).toISOString();
  const [replicas, server] = await Promise.all([
    database.query(replicasQuery, { seenSince }),
    database.query(serverVersionQuery, {}),
  ]);
  return { replicas: replicas.rows, databaseVersion: server.rows[0]?.version ?? '' };
}

type Since = { since: string };

const totalsQuery = defineQuery<Since, Uses>(
  'sum_activity',
  `
SELECT COALESCE(sum(reads), 0)::float8 AS reads, COALESCE(sum(writes), 0)::float8 AS writes,
  COALESCE(sum(rejected), 0)::float8 AS rejected
FROM activity WHERE slot >= $since::text::timestamptz
`,
);

const callersQuery = defineQuery<Since & { limit: number }, Calls & Omit<Uses, 'rejected'>>(
  'list_callers',
  `
SELECT c.tenant, c.actor, sum(c.reads) AS reads, sum(c.writes) AS writes
FROM activity AS a,
  jsonb_to_recordset(a.calls) AS c (tenant text, actor jsonb, reason text, reads float8, writes float8)
WHERE a.slot >= $since::text::timestamptz AND c.reason IS NULL
GROUP BY c.tenant, c.actor ORDER BY sum(c.reads + c.writes) DESC, c.tenant, c.actor LIMIT $limit::bigint
`,
);

/** Rejected requests and calls by an actor, by error code. */
export type Rejections = Calls & { reason: string; rejected: number };

const rejectionsQuery = defineQuery<Since & { limit: number }, Rejections>(
  'list_rejections',
  `
SELECT c.reason, c.tenant, c.actor, sum(c.rejected) AS rejected
FROM activity AS a, jsonb_to_recordset(a.calls) AS c (tenant text, actor jsonb, reason text, rejected float8)
WHERE a.slot >= $since::text::timestamptz AND c.reason IS NOT NULL
GROUP BY c.reason, c.tenant, c.actor ORDER BY sum(c.rejected) DESC, c.reason, c.tenant, c.actor LIMIT $limit::bigint
`,
);

const durationsQuery = defineQuery<Since, { command: string; range: number; calls: number }>(
  'sum_durations',
  `
SELECT d.command, d.range, sum(d.calls) AS calls
FROM activity AS a, jsonb_to_recordset(a.durations) AS d (command text, range integer, calls float8)
WHERE a.slot >= $since::text::timestamptz GROUP BY d.command, d.range ORDER BY d.range
`,
);

/** Durations in milliseconds. */
export interface Latency {
  calls: number;
  p50: number;
  p95: number;
}

/**
 * Returns the totals since a time, the most frequent calls and rejections, and the latency in total and by
 * command. Throws `DatabaseError`.
 */
export async function readActivity(database: Database, since: string, limit: number) {
  const [totals, callers, rejections, durations] = await Promise.all([
    database.query(totalsQuery, { since }),
    database.query(callersQuery, { since, limit }),
    database.query(rejectionsQuery, { since, limit }),
    database.query(durationsQuery, { since }),
  ]);
  const byCommand = Map.groupBy(durations.rows, ({ command }) => command);
  return {
    total: totals.rows[0] ?? { reads: 0, writes: 0, rejected: 0 },
    callers: callers.rows,
    rejections: rejections.rows,
    latency: toLatency(durations.rows),
    latencies: [...byCommand].map(([command, ranges]) => ({ command, ...toLatency(ranges) })),
  };
}

/** @param ranges in ascending order */
function toLatency(ranges: readonly { range: number; calls: number }[]): Latency {
  const calls = ranges.reduce((sum, range) => sum + range.calls, 0);
  /** Returns the end of the range that contains the duration with a rank. */
  const percentile = (percent: number) => {
    let rank = 0;
    const found = ranges.find((range) => {
      rank += range.calls;
      return rank >= (calls * percent) / 100;
    });
    return found === undefined ? 0 : RANGE_RATIO ** found.range;
  };
  return { calls, p50: percentile(50), p95: percentile(95) };
}
