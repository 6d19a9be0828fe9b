import { z } from 'zod';
import { currentInstant } from '../../core/database/clock.ts';
import type { Database } from '../../core/database/database.ts';
import { defineQuery, time } from '../../core/database/query.ts';
import { storedTime } from '../../core/lib/rfc3339.ts';
import { DAY_MS } from '../../core/lib/units.ts';
import {
  emptyChangeLog,
  forgetChanges,
  lockChangeLog,
  makeTick,
  oldestTick,
  PARTS,
  type RangeParams,
  readWindow,
  tickBefore,
  unseenRanges,
  type Window,
} from './change-ticks.ts';

/**
 * Position in the log: after all changes that the tick at the first time sees. With four elements, also after a change
 * between two ticks: their times, and the change's time and tenant.
 */
export const fleetPosition = z.union([
  z.tuple([storedTime]),
  z.tuple([storedTime, storedTime, storedTime, z.string()]),
]);
export type FleetPosition = z.infer<typeof fleetPosition>;

export interface FleetChange {
  tenant: string;
  /** The change's time: `created_at` of its versions, or `redacted_at`. */
  at: string;
  /** Position after the change. */
  position: FleetPosition;
}

export interface FleetPage {
  changes: FleetChange[];
  /** Position after the page. */
  position: FleetPosition;
}

const readChangesQuery = defineQuery<
  RangeParams & { at: string; after: string; limit: number },
  { tenant: string; at: string }
>(
  'read_changes',
  `
SELECT c.tenant_id AS tenant, ${time('c.at')} AS at
FROM unnest($nodes::integer[], $firsts::text[], $ends::text[], $snapshots::text[]) AS r (node, first, "end", snapshot)
JOIN change_log AS c ON c.node = r.node AND c.xid >= r.first::bigint AND c.xid < r."end"::bigint
WHERE pg_visible_in_snapshot(c.xid::text::xid8, r.snapshot::pg_snapshot)
  AND (c.at, c.tenant_id) > ($at::text::timestamptz, $after)
GROUP BY c.at, c.tenant_id ORDER BY c.at, c.tenant_id LIMIT $limit
`,
);

const startLogQuery = defineQuery<Record<string, never>>(
  'start_change_log',
  'INSERT INTO change_log_state (part, since) VALUES (0, now()) ON CONFLICT DO NOTHING',
);

const stopLogQuery = defineQuery<Record<string, never>>('stop_change_log', 'DELETE FROM change_log_state');

const pruneEventsQuery = defineQuery<{ before: string }>(
  'prune_events',
  'DELETE FROM tenant_events WHERE fleet_only AND at < $before::text::timestamptz',
);

const switchPartQuery = defineQuery<{ part: number; now: string }>(
  'switch_change_log',
  'UPDATE change_log_state SET part = $part::integer, since = $now::text::timestamptz',
);

const LIVE_MS = 200;
/** Time after which a tick is made without readers, which bounds the rows between two ticks. */
const IDLE_MS = 10_000;
/** Pruning interval. */
const PRUNE_MS = 60 * 60_000;

/**
 * All tenants' change log, without paths and contents. Each committed change is read once. A tenant's changes are
 * read in order. Drafts are not in the log.
 */
export class FleetLog {
  readonly #database: Database;
  readonly #liveMs: number;
  #prunedAt = Number.NEGATIVE_INFINITY;

  /** @param liveMs the newest tick's age from which a reader makes another one */
  constructor(database: Database, liveMs = LIVE_MS) {
    this.#database = database;
    this.#liveMs = liveMs;
  }

  /**
   * Returns the position after all committed changes.
   *
   * @returns undefined while the log is off, and for a few seconds after it was turned on
   */
  async latest(): Promise<FleetPosition | undefined> {
    const at = (await makeTick(this.#database, 0)) ?? (await makeTick(this.#database, 0));
    return at === undefined ? undefined : [at];
  }

  /** Returns the first position; undefined like `latest`. */
  async oldest(): Promise<FleetPosition | undefined> {
    const at = await oldestTick(this.#database.query);
    return at === undefined ? this.latest() : [at];
  }

  /** Returns a position before all changes that were committed after a time; undefined if the log begins later. */
  async before(time: string): Promise<FleetPosition | undefined> {
    const at = await tickBefore(this.#database.query, time);
    return at === undefined ? undefined : [at];
  }

  /**
   * Reads at most `limit` changes after a position. A page with fewer changes ends after all changes that were committed
   * `liveMs` ago.
   *
   * @returns undefined if the position is older than the log, or from another database
   */
  async page(position: FleetPosition, limit: number): Promise<FleetPage | undefined> {
    const changes: FleetChange[] = [];
    let [after, until = null, at = '-infinity', tenant = ''] = position;
    for (let ticks = 1; ; ticks *= 2) {
      let window = await readWindow(this.#database.query, { after, until, ticks });
      if (window !== undefined && window.until === undefined && changes.length === 0) {
        await makeTick(this.#database, this.#liveMs);
        window = await readWindow(this.#database.query, { after, until, ticks });
      }
      if (window === undefined) return undefined;
      if (window.until === undefined) return { changes, position: [after] };
      const found = await this.#readChanges(window, { at, tenant, limit: limit - changes.length });
      // If rows were forgotten in the meantime, so was the tick.
      if ((await readWindow(this.#database.query, { after, until: null, ticks: 1 })) === undefined)
        return undefined;
      const end = window.until.at;
      for (const row of found) changes.push({ ...row, position: [after, end, row.at, row.tenant] });
      const last = changes.at(-1);
      if (last !== undefined && changes.length === limit) return { changes, position: last.position };
      [after, until, at, tenant] = [end, null, '-infinity', ''];
    }
  }

  async #readChanges(
    { after, until }: Window,
    { at, tenant, limit }: { at: string; tenant: string; limit: number },
  ): Promise<{ tenant: string; at: string }[]> {
    const ranges = unseenRanges(after, until?.snapshots ?? after);
    return (await this.#database.query(readChangesQuery, { ...ranges, at, after: tenant, limit })).rows;
  }

  /** The replica's work each second: makes a tick if it is time for one, and prunes the log each hour. */
  async maintain(days: number): Promise<void> {
    const now = performance.now();
    if (now - this.#prunedAt >= PRUNE_MS) {
      this.#prunedAt = now;
      await this.prune(days);
      // No row in the log is older than this.
      const before = new Date(Date.now() - 2 * days * DAY_MS).toISOString();
      await this.#database.query(pruneEventsQuery, { before });
    }
    if (days > 0) await makeTick(this.#database, IDLE_MS);
  }

  /**
   * Turns the log on, or off and empties it if `days` is 0. Otherwise, twice in `days`, empties the oldest
   * partition and makes it the one for new rows. So the log keeps `days` days, and up to half as much again.
   */
  async prune(days: number): Promise<void> {
    await this.#database.transaction(async (query) => {
      const state = await lockChangeLog(query);
      if (days === 0) {
        if (state === undefined) return;
        await emptyChangeLog(query);
        await query(stopLogQuery, {});
      } else if (state === undefined) {
        await query(startLogQuery, {});
      } else if (state.age >= (days * DAY_MS) / 2) {
        const part = (state.part + 1) % PARTS;
        await forgetChanges(query, part);
        await query(switchPartQuery, { part, now: await currentInstant(query) });
      }
    });
  }
}
