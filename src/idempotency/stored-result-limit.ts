import { LRUCache } from 'lru-cache';
import type { Database } from '../postgres/database.ts';
import { forgetStoredResultsOver } from './stored-results.ts';

/** How many stored results beyond its limit a tenant may have, for each replica, before the oldest are deleted. */
const CHECKED_EVERY = 1000;
const COUNTED_TENANTS = 10_000;

/**
 * Bounds how many stored results a tenant has under idempotency keys, which no quota counts. A write only adds to a count in memory; the oldest
 * stored results go in the background. What this process does not count (it was restarted, other replicas write) is left to the pruning job.
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
