import { hash } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import type { Database } from '../database/database.ts';
import { defineQuery } from '../database/query.ts';
import { runTenantJob } from '../database/tenant-job.ts';
import { prefix, resultNotKept } from '../memory/messages.ts';
import type { RequestKey } from '../memory/store.ts';
import { listDraftTenantsQuery } from './queries.ts';

/**
 * The key of a request.
 *
 * @param key what the caller gave: any text
 * @param input the input of the call; the order of its fields does not matter
 */
export function requestKey(key: string, input: Record<string, unknown>): RequestKey {
  const fields = Object.entries(input).sort(([a], [b]) => (a < b ? -1 : 1));
  return { keyHash: sha256(key), requestHash: sha256(JSON.stringify(fields)) };
}

/**
 * The keys of a request that writes to a memory which the caller's mounts. `own` is stored for the caller, and says
 * in which memory the write ends, so that the key cannot be used for another memory; `mounted` is stored with the
 * write itself, for this caller only.
 *
 * @param tenants the ID of each, and when it was created: a later tenant with the ID has keys of its own
 */
export function mountedRequestKeys(
  key: string,
  input: Record<string, unknown>,
  { caller, mounted }: Record<'caller' | 'mounted', [tenant: string, createdAt: string | null]>,
): { own: RequestKey; mounted: RequestKey } {
  const { keyHash, requestHash } = requestKey(key, input);
  return {
    // The prefixes keep them apart from those of other writes, whatever keys callers choose.
    own: { keyHash, requestHash: `mounted:${sha256(JSON.stringify(mounted))}` },
    mounted: { keyHash: `via:${sha256(JSON.stringify([...caller, key]))}`, requestHash },
  };
}

/** In UTF-16 units. Results are short, except snippets of long lines, and those that quote long texts or paths. */
const MAX_STORED_CHARACTERS = 1024;

/** Returns a result as it is stored for retries: truncated, because no quota counts it (see `StoredResultLimit`). */
export function storedResult(content: string): string {
  if (content.length <= MAX_STORED_CHARACTERS) return content;
  return `${prefix(content, MAX_STORED_CHARACTERS)}\n${resultNotKept}`;
}

function sha256(text: string): string {
  return hash('sha256', text, 'base64url');
}

interface Holder {
  id: string;
  draftOf: string | null;
}

/** The tenants that have stored results, in the order of their ids, a page at a time. */
const tenantsWithStoredResultsQuery = defineQuery<{ after: string; limit: number }, Holder>(
  'tenants_with_stored_results',
  `
SELECT id, draft_of AS "draftOf" FROM tenants AS t
WHERE id > $after AND EXISTS (SELECT FROM idempotency_keys AS i WHERE i.tenant_id = t.id) ORDER BY id LIMIT $limit
`,
);

/**
 * The time of the oldest of the `maxStoredResults` newest stored results of a tenant and its drafts; no row for
 * fewer.
 */
const oldestStoredResultKeptQuery = defineQuery<
  { ids: string[]; maxStoredResults: number },
  { createdAt: string }
>(
  'oldest_stored_result_kept',
  `
SELECT created_at::text AS "createdAt" FROM idempotency_keys WHERE tenant_id = ANY ($ids::text[])
ORDER BY created_at DESC OFFSET $maxStoredResults::integer - 1 LIMIT 1
`,
);

export const countStoredResultsQuery = defineQuery<{ tenant: string }, { storedResults: number }>(
  'count_stored_results',
  'SELECT count(*)::integer AS "storedResults" FROM idempotency_keys WHERE tenant_id = $tenant',
);

/** Deletes up to `limit` of a tenant's stored results that are older than a time, the oldest first. */
const pruneStoredResultsQuery = defineQuery<{ tenant: string; before: string; limit: number }>(
  'prune_stored_results',
  `
DELETE FROM idempotency_keys WHERE tenant_id = $tenant AND key_hash = ANY (ARRAY(
  SELECT key_hash FROM idempotency_keys WHERE tenant_id = $tenant AND created_at < $before::timestamptz
  ORDER BY created_at LIMIT $limit::integer
))
`,
);

/** Deletes at most `limit` stored results of a tenant. */
export const eraseStoredResultsQuery = defineQuery<{ tenant: string; limit: number }>(
  'erase_stored_results',
  `
DELETE FROM idempotency_keys WHERE tenant_id = $tenant
  AND key_hash = ANY (ARRAY(SELECT key_hash FROM idempotency_keys WHERE tenant_id = $tenant LIMIT $limit::integer))
`,
);

/** Copies all stored results of a tenant to another tenant, which has none of them. */
export const copyStoredResultsQuery = defineQuery<{ tenant: string; to: string }>(
  'copy_stored_results',
  `
INSERT INTO idempotency_keys (tenant_id, key_hash, request_hash, content, is_error, created_at)
SELECT $to, key_hash, request_hash, content, is_error, created_at FROM idempotency_keys WHERE tenant_id = $tenant
ON CONFLICT (tenant_id, key_hash) DO NOTHING
`,
);

const HOUR_MS = 60 * 60 * 1000;
/** Small, so that a statement takes far less than its time limit. */
const RESULTS_A_BATCH = 2000;

/**
 * Deletes stored results that are older than `hours`, and the oldest of tenants with more than `maxStoredResults`
 * (0: no limit), tenant by tenant, in batches. After a fault in one tenant the job goes on with the others and throws
 * the first fault at the end.
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
 * Deletes the oldest stored results of a tenant and its drafts, counted together, beyond `maxStoredResults`. Those of
 * one statement have the same time, so a few more may be kept.
 *
 * @returns how many were deleted
 */
export async function forgetStoredResultsOver(
  database: Database,
  tenant: string,
  maxStoredResults: number,
): Promise<number> {
  const drafts = (await database.query(listDraftTenantsQuery, { tenant })).rows.map(({ id }) => id);
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

/** How many stored results beyond its limit a tenant may have, for each replica, before the oldest are deleted. */
const CHECKED_EVERY = 1000;
const COUNTED_TENANTS = 10_000;

/**
 * Bounds how many stored results a tenant has under idempotency keys, which no quota counts. A write only adds to a
 * count in memory; the oldest stored results go in the background. What this process does not count (it was
 * restarted, other replicas write) is left to the pruning job.
 */
export class StoredResultLimit {
  readonly #database: Database;
  readonly #maxStoredResults: number;
  readonly #written = new LRUCache<string, number>({ max: COUNTED_TENANTS });
  readonly #forgetting = new Map<string, Promise<unknown>>();

  /** @param maxStoredResults of one tenant; 0: no limit */
  constructor(database: Database, maxStoredResults: number) {
    this.#database = database;
    this.#maxStoredResults = maxStoredResults;
  }

  /** A write under an idempotency key was done, or failed. */
  note(tenant: string): void {
    if (this.#maxStoredResults === 0) return;
    const written = (this.#written.get(tenant) ?? 0) + 1;
    const isDue = written >= CHECKED_EVERY && !this.#forgetting.has(tenant);
    this.#written.set(tenant, isDue ? 0 : written);
    if (isDue) this.#forget(tenant);
  }

  /** Waits for running deletions. */
  async close(): Promise<void> {
    await Promise.all(this.#forgetting.values());
  }

  #forget(tenant: string): void {
    const forgetting = forgetStoredResultsOver(this.#database, tenant, this.#maxStoredResults)
      // Not worth an error: it is tried again after as many writes, and by the pruning job, which reports its faults.
      .catch(() => {})
      .finally(() => this.#forgetting.delete(tenant));
    this.#forgetting.set(tenant, forgetting);
  }
}
