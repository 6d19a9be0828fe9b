import type { Database } from '../postgres/database.ts';
import { defineQuery } from '../postgres/query.ts';
import { runTenantJob } from '../postgres/tenant-job.ts';

interface Holder {
  id: string;
  draftOf: string | null;
}

/** The tenants that have stored results, in the order of their ids, a page at a time. */
const tenantsWithStoredResultsQuery = defineQuery<{ after: string; limit: number }, Holder>(
  'tenants_with_stored_results',
  ['after', 'limit'],
  `
SELECT id, draft_of AS "draftOf" FROM tenants AS t
WHERE id > $1 AND EXISTS (SELECT FROM idempotency_keys AS i WHERE i.tenant_id = t.id) ORDER BY id LIMIT $2
`,
);

const listDraftIdsQuery = defineQuery<{ tenant: string }, { id: string }>(
  'list_draft_ids',
  ['tenant'],
  'SELECT id FROM tenants WHERE draft_of = $1',
);

/** The time of the oldest of the `maxStoredResults` newest stored results of a tenant and its drafts; no row for fewer. */
const oldestStoredResultKeptQuery = defineQuery<
  { ids: string[]; maxStoredResults: number },
  { createdAt: string }
>(
  'oldest_stored_result_kept',
  ['ids', 'maxStoredResults'],
  `
SELECT created_at::text AS "createdAt" FROM idempotency_keys WHERE tenant_id = ANY ($1::text[])
ORDER BY created_at DESC OFFSET $2::integer - 1 LIMIT 1
`,
);

export const countStoredResultsQuery = defineQuery<{ tenant: string }, { storedResults: number }>(
  'count_stored_results',
  ['tenant'],
  'SELECT count(*)::integer AS "storedResults" FROM idempotency_keys WHERE tenant_id = $1',
);

/** Deletes up to `limit` of a tenant's stored results that are older than a time, the oldest first. */
const pruneStoredResultsQuery = defineQuery<{ tenant: string; before: string; limit: number }>(
  'prune_stored_results',
  ['tenant', 'before', 'limit'],
  `
DELETE FROM idempotency_keys WHERE tenant_id = $1 AND key_hash = ANY (ARRAY(
  SELECT key_hash FROM idempotency_keys WHERE tenant_id = $1 AND created_at < $2::timestamptz
  ORDER BY created_at LIMIT $3::integer
))
`,
);

/** Deletes at most `limit` stored results of a tenant. */
export const eraseStoredResultsQuery = defineQuery<{ tenant: string; limit: number }>(
  'erase_stored_results',
  ['tenant', 'limit'],
  `
DELETE FROM idempotency_keys WHERE tenant_id = $1
  AND key_hash = ANY (ARRAY(SELECT key_hash FROM idempotency_keys WHERE tenant_id = $1 LIMIT $2::integer))
`,
);

/** Copies all stored results of a tenant to another tenant, which has none of them. */
export const copyStoredResultsQuery = defineQuery<{ tenant: string; to: string }>(
  'copy_stored_results',
  ['tenant', 'to'],
  `
INSERT INTO idempotency_keys (tenant_id, key_hash, request_hash, content, is_error, created_at)
SELECT $2, key_hash, request_hash, content, is_error, created_at FROM idempotency_keys WHERE tenant_id = $1
ON CONFLICT (tenant_id, key_hash) DO NOTHING
`,
);

const HOUR_MS = 60 * 60 * 1000;
/** Small, so that a statement takes far less than its time limit. */
const RESULTS_A_BATCH = 2000;

/**
 * Deletes stored results that are older than `hours`, and the oldest of tenants with more than `maxStoredResults`
 * (0: no limit), tenant by tenant, in batches. After a fault in one tenant the job goes on with the others and throws the first fault at
 * the end.
 *
 * @param options.now by default the database's time
 * @returns how many were deleted, or undefined when another process runs the job
 */
export async function pruneStoredResults(
  database: Database,
  options: { hours: number; maxStoredResults: number; now?: Date },
): Promise<number | undefined> {
  const { hours, maxStoredResults } = options;
  let pruned = 0;
  const ran = await runTenantJob<Holder>(database, {
    job: 'results',
    now: options.now,
    readTenants: (page) => database.query(tenantsWithStoredResultsQuery, page),
    work: async ({ id: tenant, draftOf }, now) => {
      const before = new Date(now.getTime() - hours * HOUR_MS).toISOString();
      pruned += await forgetStoredResults(database, tenant, before);
      if (maxStoredResults > 0)
        pruned += await forgetStoredResultsOver(database, draftOf ?? tenant, maxStoredResults);
    },
  });
  return ran ? pruned : undefined;
}

/**
 * Deletes the oldest stored results of a tenant and its drafts, counted together, beyond `maxStoredResults`. Those of one statement have the same time, so a few more may be kept.
 *
 * @returns how many were deleted
 */
export async function forgetStoredResultsOver(
  database: Database,
  tenant: string,
  maxStoredResults: number,
): Promise<number> {
  const drafts = (await database.query(listDraftIdsQuery, { tenant })).rows.map(({ id }) => id);
  const ids = [tenant, ...drafts];
  const oldest = (await database.query(oldestStoredResultKeptQuery, { ids, maxStoredResults })).rows[0];
  if (oldest === undefined) return 0;
  let forgotten = 0;
  for (const id of ids) forgotten += await forgetStoredResults(database, id, oldest.createdAt);
  return forgotten;
}

async function forgetStoredResults(database: Database, tenant: string, before: string): Promise<number> {
  let forgotten = 0;
  for (let count = RESULTS_A_BATCH; count === RESULTS_A_BATCH; forgotten += count) {
    ({ count } = await database.query(pruneStoredResultsQuery, { tenant, before, limit: RESULTS_A_BATCH }));
  }
  return forgotten;
}
