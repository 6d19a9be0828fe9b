import { defineQuery, time } from '../../core/database/query.ts';
import { AFTER as AFTER_TIME, COLUMNS, isBy, type VersionRow } from '../../core/history/version.ts';
import { LAST_ID } from '../../core/lib/uuids.ts';
import type { Actor } from '../../core/memory/origin.ts';
import type { EventFacts } from '../../core/tenants/events.ts';

/** A position among a tenant's changes: after the change at this time with this ID. */
export type Position = {
  /** A stored time (src/core/lib/rfc3339.ts). */
  time: string;
  /** The version's or event's ID. Changes at the same time are ordered by it. */
  id: string;
};

/** A tenant's history, as far as readers of its changes need it. Times are stored times. */
export interface FeedState {
  createdAt: string;
  /** Start of the complete history. */
  historySince: string;
  /** Time of the latest change or event, and the time after it. */
  last: string;
  now: string;
}

const LAST = 'COALESCE(GREATEST(last_change_at, last_event_at), created_at)';

export const feedStateQuery = defineQuery<{ tenant: string }, FeedState>(
  'feed_state',
  `
SELECT ${time('created_at')} AS "createdAt", ${time('history_since')} AS "historySince",
  ${time(LAST)} AS last, ${time(`(${LAST} + interval '1 microsecond')`)} AS now
FROM tenants WHERE id = $tenant
`,
);

export type ChangedRow = VersionRow & {
  /** Whether the filter by an actor or a source matches. */
  isWanted: boolean;
};

/** Null fields do not filter. */
type Params = Position & {
  tenant: string;
  /** Time of the last change. */
  until: string;
  /** An actor or a source, as in `VersionFilter`. */
  by: string | null;
  limit: number;
};

/** SQL value: an ID before the versions after the position. Version IDs begin with the time. */
const AFTER = 'GREATEST($id::text::uuid, memory_first_id($time::text::timestamptz))';
const BEFORE = AFTER_TIME('$until');

/**
 * Reads the versions that were created after a position, oldest first. No index orders the current versions by time,
 * because each edit would have to write it. Instead, each current version is found by the way in which it came about:
 *
 * - The file was never changed: its ID is its version's ID.
 * - It replaced a version, which ended at the same time. A change of many files has one time, so `WITH TIES` keeps
 *   them together.
 * - A restore or a merge created the file with an earlier ID. Only then are the tenant's files read one by one.
 *
 * `last` is the last replaced version in the page, after which no current version is needed.
 */
export const listChangesQuery = defineQuery<Params, ChangedRow>(
  'list_changes',
  `
WITH past AS MATERIALIZED (
  SELECT v.* FROM memory_versions AS v
  WHERE v.tenant_id = $tenant AND v.superseded_at IS NOT NULL AND v.id > ${AFTER} AND v.id < ${BEFORE}
  ORDER BY v.id LIMIT $limit::bigint
), last AS MATERIALIZED (
  SELECT CASE WHEN count(*) = $limit::bigint THEN (array_agg(p.id ORDER BY p.id DESC))[1] ELSE '${LAST_ID}' END AS id,
    CASE WHEN count(*) = $limit::bigint THEN max(p.created_at) ELSE 'infinity' END AS at
  FROM past AS p
), unchanged AS (
  SELECT h.* FROM memory_heads AS h
  WHERE h.tenant_id = $tenant AND h.memory_id > ${AFTER} AND h.memory_id < ${BEFORE} AND h.id = h.memory_id
    AND h.memory_id < (SELECT id FROM last)
  ORDER BY h.memory_id LIMIT $limit::bigint
), changed AS (
  SELECT h.* FROM versions AS replaced, LATERAL (
    SELECT * FROM memory_heads AS heads
    WHERE heads.tenant_id = $tenant AND heads.memory_id = replaced.memory_id
      AND heads.created_at = replaced.superseded_at
    OFFSET 0
  ) AS h
  WHERE replaced.tenant_id = $tenant AND replaced.superseded_at >= $time::text::timestamptz
    AND replaced.superseded_at <= LEAST($until::text::timestamptz, (SELECT at FROM last))
    AND h.id > ${AFTER}
  ORDER BY replaced.superseded_at FETCH FIRST ($limit::bigint) ROWS WITH TIES
), restored AS (
  SELECT h.* FROM memory_heads AS h
  WHERE h.tenant_id = $tenant AND h.operation = 'created' AND h.id <> h.memory_id
    AND h.id > ${AFTER} AND h.id < ${BEFORE}
    AND (SELECT t.restored_at >= $time::text::timestamptz FROM tenants AS t WHERE t.id = $tenant)
)
SELECT ${COLUMNS}, $by::text IS NULL OR ${isBy('v.origin', '$by')} AS "isWanted" FROM (
  SELECT * FROM past UNION ALL SELECT * FROM unchanged UNION ALL SELECT * FROM changed
  UNION ALL SELECT * FROM restored
) AS v
ORDER BY v.id LIMIT $limit::bigint
`,
);

/** Reads the versions that were redacted after a position, in the order of the redactions. */
export const listRedactionsQuery = defineQuery<Params, ChangedRow>(
  'list_redactions',
  `
SELECT ${COLUMNS},
  $by::text IS NULL OR ${isBy("jsonb_build_object('actor', v.redacted_by)", '$by')} AS "isWanted"
FROM memory_versions AS v
WHERE v.tenant_id = $tenant AND v.superseded_at IS NOT NULL AND v.redacted_at IS NOT NULL
  AND v.redacted_at <= $until::text::timestamptz
  AND (v.redacted_at, v.id) > ($time::text::timestamptz, $id::text::uuid)
ORDER BY v.redacted_at, v.id LIMIT $limit::bigint
`,
);

export interface EventRow {
  at: string;
  id: string;
  type: EventFacts['type'];
  actor: Actor;
  details: Omit<EventFacts, 'type'>;
  /** Whether the filter by an actor or a source matches. */
  isWanted: boolean;
}

/** Reads the events after a position that are no changes to files, oldest first. */
export const listEventsQuery = defineQuery<Params & { isFleet: boolean }, EventRow>(
  'list_events',
  `
SELECT ${time('e.at')} AS at, e.id, e.type, e.actor, e.details,
  $by::text IS NULL OR ${isBy("jsonb_build_object('actor', e.actor)", '$by')} AS "isWanted"
FROM tenant_events AS e
WHERE e.tenant_id = $tenant AND (e.at, e.id) > ($time::text::timestamptz, $id::text::uuid)
  AND e.at <= $until::text::timestamptz AND ($isFleet::boolean OR NOT e.fleet_only)
ORDER BY e.at, e.id LIMIT $limit::bigint
`,
);
