import { defineQuery, type QueryExecutor } from '../database/query.ts';

/**
 * Adds a tenant to the arrivals in all jobs that have not ended. A job pages tenants by ID, and looks again at changed
 * tenants, but an arrived tenant's rows may have earlier times. The jobs that name a renamed tenant name its new ID
 * too. If a job is ending, the update waits until it has ended, so no job ends between the update and the commit.
 */
const noteArrivalQuery = defineQuery<{ tenant: string; renamedFrom: string | null; excepted: string }>(
  'note_arrival',
  `
UPDATE jobs SET
  arrived = CASE WHEN ended_at IS NULL THEN array_append(arrived, $tenant::text) ELSE arrived END,
  only_tenants = array_replace(only_tenants, $renamedFrom::text, $tenant::text),
  selection = CASE WHEN selection -> 'except' ? $renamedFrom::text
    THEN jsonb_set(selection, '{except}', (selection -> 'except') || $excepted::jsonb) ELSE selection END
WHERE ended_at IS NULL
  OR only_tenants @> ARRAY[$renamedFrom::text] OR selection -> 'except' ? $renamedFrom::text
`,
);

/**
 * Makes jobs look at a tenant whose data has just arrived by a rename, a copy, or an import. Must be the transaction's
 * last step, because jobs that end wait from here on.
 */
export async function noteArrival(
  query: QueryExecutor,
  tenant: string,
  renamedFrom: string | null = null,
): Promise<void> {
  // Citus rejects the function to_jsonb() in this statement, because it is not immutable.
  await query(noteArrivalQuery, { tenant, renamedFrom, excepted: JSON.stringify([tenant]) });
}
