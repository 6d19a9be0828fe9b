import type { Database } from '../database/database.ts';
import { defineQuery, time } from '../database/query.ts';
import type { Actor } from '../memory/origin.ts';
import { AFTER } from './version.ts';

/** Maximum number of actors counted separately. Further actors are counted together. */
const MAX_ACTORS = 20;

const countChangesQuery = defineQuery<
  { tenant: string; since: string; until: string; buckets: number; actors: number },
  { bucket: number; actor: Actor | null; changes: number }
>(
  'count_changes',
  `
WITH times AS MATERIALIZED (
  -- Computed once instead of for each version. Arithmetic with float8 is several times faster than with numeric.
  SELECT since, until, extract(epoch FROM since)::float8 AS low, extract(epoch FROM until)::float8 AS high
  FROM (SELECT $since::text::timestamptz AS since, $until::text::timestamptz AS until) AS given
), counted AS (
  SELECT width_bucket(date_part('epoch', v.created_at), t.low, t.high, $buckets::integer) AS bucket,
    COALESCE(v.origin -> 'actor', '{"type": "anonymous"}') AS actor, count(*) AS changes
  FROM memory_versions AS v, times AS t
  WHERE v.tenant_id = $tenant AND v.created_at >= t.since AND v.created_at < t.until
  GROUP BY 1, 2
), busiest AS (
  SELECT actor, sum(changes) AS changes FROM counted GROUP BY actor ORDER BY 2 DESC, 1 LIMIT $actors::integer
)
SELECT c.bucket, b.actor, sum(c.changes)::float8 AS changes
FROM counted AS c LEFT JOIN busiest AS b ON b.actor = c.actor GROUP BY 1, 2
`,
);

export interface Activity {
  /** The actors with the most changes, in descending order by changes. */
  actors: Actor[];
  /**
   * Periods of equal length. `counts`: changes by each actor, in the same order as `actors`. `others`: changes by all
   * other actors.
   */
  buckets: { start: string; counts: number[]; others: number }[];
}

/**
 * Counts a tenant's versions between two times. Throws `DatabaseError`.
 *
 * @param times in ISO 8601; `since` is before `until`
 */
export async function activity(
  database: Database,
  tenant: string,
  { since, until }: { since: string; until: string },
  buckets: number,
): Promise<Activity> {
  const params = { tenant, since, until, buckets, actors: MAX_ACTORS };
  const { rows } = await database.query(countChangesQuery, params);
  const totals = new Map<string, { actor: Actor; changes: number }>();
  for (const { actor, changes } of rows) {
    if (actor === null) continue;
    const total = totals.get(toActorKey(actor)) ?? { actor, changes: 0 };
    totals.set(toActorKey(actor), { actor, changes: total.changes + changes });
  }
  // Sorts actors with equal counts by key, because the rows have no order.
  const busiest = [...totals.entries()].sort(
    ([key, a], [other, b]) => b.changes - a.changes || (key < other ? -1 : 1),
  );
  const positions = new Map(busiest.map(([key], position) => [key, position]));
  const start = Date.parse(since);
  const width = (Date.parse(until) - start) / buckets;
  const counted: Activity['buckets'] = Array.from({ length: buckets }, (_, index) => ({
    start: new Date(start + index * width).toISOString(),
    counts: busiest.map(() => 0),
    others: 0,
  }));
  for (const { bucket, actor, changes } of rows) {
    const at = counted[Math.min(bucket, buckets) - 1];
    if (at === undefined) throw new Error('A change is in no bucket.');
    const position = actor === null ? undefined : positions.get(toActorKey(actor));
    if (position === undefined) at.others += changes;
    else at.counts[position] = changes;
  }
  return { actors: busiest.map(([, { actor }]) => actor), buckets: counted };
}

/** Serializes an actor. Keys are comparable, because the database returns equal JSON for equal actors. */
function toActorKey(actor: Actor): string {
  return JSON.stringify(actor);
}

/**
 * Finds the times one change before and one change after `at`. The last change until `at` produced the state at `at`,
 * so `previous` is the time of the change before. `since` is the earliest time that can be read.
 *
 * No index contains current versions by ID. Each bound is a subquery, so that it is computed once instead of for each
 * file.
 */
const findAdjacentChangesQuery = defineQuery<
  { tenant: string; at: string },
  { since: string; current: string | null; previous: string | null; next: string | null }
>(
  'find_adjacent_changes',
  `
WITH current AS MATERIALIZED (
  SELECT (
    SELECT v.created_at FROM memory_versions AS v WHERE v.tenant_id = $tenant AND v.id < (SELECT ${AFTER('$at')})
    ORDER BY v.id DESC LIMIT 1
  ) AS at
)
SELECT ${time('t.history_since')} AS since, ${time('c.at')} AS current, ${time(`(
    SELECT v.created_at FROM memory_versions AS v
    WHERE v.tenant_id = $tenant AND v.id < (SELECT memory_first_id(c.at)) ORDER BY v.id DESC LIMIT 1
  )`)} AS previous, ${time(`(
    SELECT v.created_at FROM memory_versions AS v WHERE v.tenant_id = $tenant AND v.id >= (SELECT ${AFTER('$at')})
    ORDER BY v.id LIMIT 1
  )`)} AS next
FROM tenants AS t, current AS c
WHERE t.id = $tenant
`,
);

export interface AdjacentChanges {
  /** Null if no earlier, different state can be read. */
  previous: string | null;
  /** Null if `at` is not before any change. */
  next: string | null;
}

/** Finds the times one change before and one change after `at`. Throws `DatabaseError`. */
export async function adjacentChanges(
  database: Pick<Database, 'query'>,
  tenant: string,
  at: string,
): Promise<AdjacentChanges> {
  const [row] = (await database.query(findAdjacentChangesQuery, { tenant, at })).rows;
  if (row === undefined) return { previous: null, next: null };
  const { since, current, previous, next } = row;
  // Versions from before `since` may still exist, but no complete state before `since` can be read.
  const isFirst = current === null || current <= since;
  const earlier = previous === null || previous < since ? since : previous;
  return { previous: isFirst ? null : earlier, next: next !== null && next < since ? since : next };
}
