import { defineQuery, type QueryExecutor } from '../database/query.ts';
import { listOpenDraftsQuery } from '../tenants/queries.ts';
import { type ActorChanges, isByActorSql } from './touched.ts';

/* Finds the open drafts that a revert leaves with the reverted changes, because each draft is a separate memory. */

/**
 * Whether a draft has, since a time, a version by the actor or a version of one of the files. A copy of a file may
 * contain the actor's lines.
 */
const hasChangesQuery = defineQuery<ActorChanges & { memoryIds: string[] }, { found: boolean }>(
  'draft_has_changes',
  `
SELECT EXISTS (
  SELECT FROM memory_versions AS v
  WHERE v.tenant_id = $tenant AND v.id >= memory_first_id($since::text::timestamptz)
    AND ((${isByActorSql('v.origin', 'v.created_at')}) OR v.memory_id = ANY ($memoryIds::text[]::uuid[]))
) AS found
`,
);

/**
 * Returns the sorted IDs of the open drafts that may still contain an actor's changes.
 *
 * @param files IDs of the files that the actor changed in the memory
 */
export async function draftsWithChanges(
  query: QueryExecutor,
  changes: ActorChanges,
  files: Iterable<string>,
): Promise<string[]> {
  const drafts = (await query(listOpenDraftsQuery, { tenant: changes.tenant })).rows;
  const memoryIds = drafts.length === 0 ? [] : [...files];
  const found: string[] = [];
  for (const { id } of drafts)
    if ((await query(hasChangesQuery, { ...changes, tenant: id, memoryIds })).rows[0]?.found) found.push(id);
  return found.sort();
}
