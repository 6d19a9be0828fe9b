import type { Config } from '../config.ts';
import type { Database } from '../database/database.ts';
import type { SecretScanner } from '../memory/secrets/secrets.ts';
import type { TenantDefaults } from '../memory/store.ts';
import { tenantDefaults } from '../tenants/effective-settings.ts';
import { TenantPolicyCache } from '../tenants/policy-cache.ts';
import { StoredResultLimit } from '../tenants/stored-results.ts';
import { Tenants } from '../tenants/tenants.ts';
import { AccessTimes } from './access-times.ts';
import { PendingFiles } from './pending-files.ts';
import { MemorySearch } from './search/search.ts';
import { WriteQueue } from './write-queue.ts';

/**
 * What a process has one of, for the memories of all tenants in its database: agents and operators share the queue of
 * writes.
 */
export class Services {
  readonly config: Config;
  readonly database: Database;
  readonly scanner: SecretScanner;
  /** What holds for a tenant without settings of its own. */
  readonly defaults: TenantDefaults;
  readonly policies: TenantPolicyCache;
  readonly writes: WriteQueue;
  readonly pending = new PendingFiles();
  readonly accessTimes: AccessTimes;
  readonly storedResults: StoredResultLimit;
  readonly search = new MemorySearch();

  constructor(config: Config, database: Database, scanner: SecretScanner) {
    this.config = config;
    this.database = database;
    this.scanner = scanner;
    this.defaults = tenantDefaults(config);
    this.policies = new TenantPolicyCache(new Tenants(database), config);
    const executors = { batched: database.queryBatch, single: database.query };
    this.writes = new WriteQueue(executors, database.batchSize, database.tracer);
    this.accessTimes = new AccessTimes(database, this.writes);
    this.storedResults = new StoredResultLimit(database, config.MAX_TENANT_STORED_RESULTS);
  }

  /** Completes the background writes, and ends the threads. Call it when no more requests come. */
  async close(): Promise<void> {
    await Promise.all([this.accessTimes.close(), this.storedResults.close(), this.search.close()]);
  }
}
