import type { Database } from '../postgres/database.ts';
import { defineQuery } from '../postgres/query.ts';
import { time } from '../postgres/time-column.ts';
import { AFTER } from './version.ts';

/**
 * The moments one change before and one change after another one. The change before `at` is what made the memory what it was then: the
 * moment before that is the one of the change before. `since` is the earliest that can be read. No index has the heads by their ids: each
 * bound is a subquery, so that it is computed once and not for each file.
 */
const findAdjacentChangesQuery = defineQuery<
  { tenant: string; at: string },
  { since: string; current: string | null; previous: string | null; next: string | null }
>(
  'find_adjacent_changes',
  ['tenant', 'at'],
  `
WITH current AS MATERIALIZED (
  SELECT (
    SELECT v.created_at FROM memory_versions AS v WHERE v.tenant_id = $1 AND v.id < (SELECT ${AFTER('$2')}) ORDER BY v.id DESC LIMIT 1
  ) AS at
)
SELECT ${time('t.history_since')} AS since, ${time('c.at')} AS current, ${time(`(
    SELECT v.created_at FROM memory_versions AS v
    WHERE v.tenant_id = $1 AND v.id < (SELECT memory_first_id(c.at)) ORDER BY v.id DESC LIMIT 1
  )`)} AS previous, ${time(`(
    SELECT v.created_at FROM memory_versions AS v WHERE v.tenant_id = $1 AND v.id >= (SELECT ${AFTER('$2')}) ORDER BY v.id LIMIT 1
  )`)} AS next
FROM tenants AS t, current AS c
WHERE t.id = $1
`,
);

export interface AdjacentChanges {
  /** Null when nothing earlier can be read that differs. */
  previous: string | null;
  /** Null when nothing has changed since. */
  next: string | null;
}

/** The moments one change before and one change after `at`. Throws `DatabaseError`. */
export async function adjacentChanges(
  database: Pick<Database, 'query'>,
  tenant: string,
  at: string,
): Promise<AdjacentChanges> {
  const [row] = (await database.query(findAdjacentChangesQuery, { tenant, at })).rows;
  if (row === undefined) return { previous: null, next: null };
  const { since, current, previous, next } = row;
  // Of the versions from before the history is complete, some are still there, but no moment can be read.
  const isFirst = current === null || current <= since;
  const earlier = previous === null || previous < since ? since : previous;
  return { previous: isFirst ? null : earlier, next: next !== null && next < since ? since : next };
}
