import { hash } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import type { Database } from '../database/database.ts';
import { defineQuery, time } from '../database/query.ts';
import { runTenantJob } from '../database/tenant-job.ts';
import { maxEntries } from '../lib/max-entries.ts';
import type { RequestKey } from '../memory/memory-store.ts';
import { prefix, resultNotKept } from '../memory/messages.ts';
import { listOpenDraftsQuery } from './queries.ts';

/**
 * Computes a request's stored key.
 *
 * @param key the caller's idempotency key: any text
 * @param input the call's input; the order of its fields is irrelevant
 */
export function requestKey(key: string, input: Record<string, unknown>): RequestKey {
  const fields = Object.entries(input).sort(([a], [b]) => (a < b ? -1 : 1));
  return { keyHash: sha256(key), requestHash: sha256(JSON.stringify(fields)) };
}

/**
 * Computes the keys for a write through a mount. `own` is stored for the mounting tenant. It identifies the mounted
 * memory, so that the key cannot be reused for another memory. `mounted` is stored with the write itself, and is
 * specific to the mounting tenant.
 *
 * @param tenants each tenant's ID and creation time, because a later tenant with the same ID has separate keys
 */
export function mountedRequestKeys(
  key: string,
  input: Record<string, unknown>,
  { caller, mounted }: Record<'caller' | 'mounted', [tenant: string, createdAt: string | null]>,
): { own: RequestKey; mounted: RequestKey } {
  const { keyHash, requestHash } = requestKey(key, input);
  return {
    // The prefixes prevent collisions with keys that callers choose for other writes.
    own: { keyHash, requestHash: `mounted:${sha256(JSON.stringify(mounted))}` },
    mounted: { keyHash: `via:${sha256(JSON.stringify([...caller, key]))}`, requestHash },
  };
}

/** UTF-16 code units. Most results are short, except snippets of long lines and quotes from long texts or paths. */
const MAX_STORED_CHARACTERS = 1024;

/** Truncates a result for storage, because stored results do not count towards a quota (see `StoredResultLimit`). */
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

const tenantsWithStoredResultsQuery = defineQuery<{ after: string; limit: number }, Holder>(
  'tenants_with_stored_results',
  `
SELECT id, draft_of AS "draftOf" FROM tenants AS t
WHERE id > $after AND EXISTS (SELECT FROM idempotency_keys AS i WHERE i.tenant_id = t.id) ORDER BY id LIMIT $limit
`,
);

/**
 * Returns the time of the oldest result among the `maxStoredResults` newest stored results in a tenant and its drafts.
 * Returns no row if there are fewer.
 */
const oldestStoredResultKeptQuery = defineQuery<
  { ids: string[]; maxStoredResults: number },
  { createdAt: string }
>(
  'oldest_stored_result_kept',
  `
SELECT ${time('created_at')} AS "createdAt" FROM idempotency_keys WHERE tenant_id = ANY ($ids::text[])
ORDER BY created_at DESC OFFSET $maxStoredResults::integer - 1 LIMIT 1
`,
);

export const countStoredResultsQuery = defineQuery<{ tenant: string }, { storedResults: number }>(
  'count_stored_results',
  'SELECT count(*)::integer AS "storedResults" FROM idempotency_keys WHERE tenant_id = $tenant',
);

const pruneStoredResultsQuery = defineQuery<{ tenant: string; before: string; limit: number }>(
  'prune_stored_results',
  `
DELETE FROM idempotency_keys WHERE tenant_id = $tenant AND key_hash = ANY (ARRAY(
  SELECT key_hash FROM idempotency_keys WHERE tenant_id = $tenant AND created_at < $before::timestamptz
  ORDER BY created_at LIMIT $limit::integer
))
`,
);

export const deleteStoredResultsQuery = defineQuery<{ tenant: string; limit: number }>(
  'erase_stored_results',
  `
DELETE FROM idempotency_keys WHERE tenant_id = $tenant
  AND key_hash = ANY (ARRAY(SELECT key_hash FROM idempotency_keys WHERE tenant_id = $tenant LIMIT $limit::integer))
`,
);

/** Copies all of a tenant's stored results to another tenant. Skips keys that exist there. */
export const copyStoredResultsQuery = defineQuery<{ tenant: string; to: string }>(
  'copy_stored_results',
  `
INSERT INTO idempotency_keys (tenant_id, key_hash, request_hash, content, is_error, created_at)
SELECT $to, key_hash, request_hash, content, is_error, created_at FROM idempotency_keys WHERE tenant_id = $tenant
ON CONFLICT (tenant_id, key_hash) DO NOTHING
`,
);

const HOUR_MS = 60 * 60 * 1000;
/** Small, so that each statement finishes well within its time limit. */
const RESULTS_A_BATCH = 2000;

/**
 * Deletes stored results older than `hours`, and the oldest results in tenants that exceed `maxStoredResults` (0 means
 * no limit). If a tenant fails, the job continues with the others and throws the first error at the end.
 *
 * @param options.now defaults to the database's time
 * @returns the number of deleted results, or undefined if another replica is running the job
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
 * Deletes the oldest stored results in a tenant and its drafts, which share the limit `maxStoredResults`. Results from
 * one statement have the same time, so a few more may be kept.
 *
 * @returns the number of deleted results
 */
export async function forgetStoredResultsOver(
  database: Database,
  tenant: string,
  maxStoredResults: number,
): Promise<number> {
  const drafts = (await database.query(listOpenDraftsQuery, { tenant })).rows.map(({ id }) => id);
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

/** Number of writes by a tenant, per replica, between two deletions of results beyond the limit. */
const CHECKED_EVERY = 1000;
const COUNTED_TENANTS = 10_000;

/**
 * Limits the number of stored results in a tenant, which no quota counts. A write only increments a counter in memory;
 * the oldest results are deleted in the background. The pruning job deletes results that this process did not count,
 * from before a restart or from other replicas.
 */
export class StoredResultLimit {
  readonly #database: Database;
  readonly #maxStoredResults: number;
  readonly #written = new LRUCache<string, number>(maxEntries(COUNTED_TENANTS));
  readonly #forgetting = new Map<string, Promise<unknown>>();

  /** @param maxStoredResults limit per tenant; 0 means no limit */
  constructor(database: Database, maxStoredResults: number) {
    this.#database = database;
    this.#maxStoredResults = maxStoredResults;
  }

  /** Counts a successful or failed write with an idempotency key. */
  note(tenant: string): void {
    if (this.#maxStoredResults === 0) return;
    const written = (this.#written.get(tenant) ?? 0) + 1;
    const isDue = written >= CHECKED_EVERY && !this.#forgetting.has(tenant);
    this.#written.set(tenant, isDue ? 0 : written);
    if (isDue) this.#forget(tenant);
  }

  async close(): Promise<void> {
    await Promise.all(this.#forgetting.values());
  }

  #forget(tenant: string): void {
    const forgetting = forgetStoredResultsOver(this.#database, tenant, this.#maxStoredResults)
      // Ignores the error. The deletion is retried after as many further writes, and by the pruning job, which reports
      // errors.
      .catch(() => {})
      .finally(() => this.#forgetting.delete(tenant));
    this.#forgetting.set(tenant, forgetting);
  }
}
