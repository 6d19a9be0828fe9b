import type { Config } from '../config.ts';
import type { Database } from '../database/database.ts';
import { mapMaybePromise } from '../lib/maybe-promise.ts';
import type { TenantDefaults } from '../memory/memory-store.ts';
import { redactionFor } from '../memory/secrets/kept-out.ts';
import type { Redaction, SecretScanner } from '../memory/secrets/secrets.ts';
import { effectiveSettings, tenantDefaults } from '../tenants/effective-settings.ts';
import { KeptOutLists } from '../tenants/kept-out-lists.ts';
import { type TenantPolicy, TenantPolicyCache } from '../tenants/policy-cache.ts';
import type { TenantRow } from '../tenants/queries.ts';
import { StoredResultLimit } from '../tenants/stored-results.ts';
import { Tenants } from '../tenants/tenants.ts';
import { AccessTimes } from './access-times.ts';
import { PendingFiles } from './pending-files.ts';
import type { Provenance } from './provenance.ts';
import type { ReadTrail } from './read-trail.ts';
import type { RecordTracer } from './record-tracer.ts';
import { Watches } from './watches.ts';
import { WriteQueue } from './write-queue.ts';

/** A feature's object that lives as long as the services. */
export interface FeatureService {
  /** Discards cached contents from a tenant's files, because a text was erased from the files. */
  forget?(tenant: string): void;
  close(): Promise<void>;
}

/** Services that all tenants in a process share. Agents and operators use the same write queue. */
export class Services {
  readonly config: Config;
  readonly database: Database;
  readonly scanner: SecretScanner;
  /** Defaults for tenants without their own settings. */
  readonly defaults: TenantDefaults;
  readonly keptOut: KeptOutLists;
  readonly policies: TenantPolicyCache;
  readonly writes: WriteQueue;
  readonly pending = new PendingFiles();
  readonly accessTimes: AccessTimes;
  /** Undefined until the feature that records reads has started. */
  readTrail: ReadTrail | undefined;
  /** Undefined until the feature that finds provenance has started. */
  provenance: Provenance | undefined;
  readonly storedResults: StoredResultLimit;
  /** Undefined while tracing is off. */
  readonly records: RecordTracer | undefined;
  readonly watches: Watches;
  /** Feature objects, by the functions that create them. */
  readonly #features = new Map<(services: Services) => FeatureService, FeatureService>();

  constructor(config: Config, database: Database, scanner: SecretScanner, records?: RecordTracer) {
    this.config = config;
    this.database = database;
    this.scanner = scanner;
    this.records = records;
    this.defaults = tenantDefaults(config);
    this.keptOut = new KeptOutLists(database, config);
    this.policies = new TenantPolicyCache(new Tenants(database), config, this.keptOut);
    const executors = { batched: database.queryBatch, single: database.query };
    this.writes = new WriteQueue(executors, database.batches, database.tracer);
    this.accessTimes = new AccessTimes(database, this.writes);
    this.storedResults = new StoredResultLimit(database, config.MAX_TENANT_STORED_RESULTS);
    this.watches = new Watches(database);
    this.writes.onWrite = (tenant) => this.watches.noteWrite(tenant);
  }

  /** Returns how to handle secrets and kept-out texts in a write that begins now; undefined stores every text. */
  redactionForWrite(
    tenant: string,
    { secrets, draftOf }: Pick<TenantPolicy, 'secrets' | 'draftOf'>,
  ): Redaction | undefined | Promise<Redaction | undefined> {
    const texts = this.keptOut.recentTextsFor({ id: tenant, draftOf });
    return mapMaybePromise(texts, (keptOut) => redactionFor(secrets, this.scanner, keptOut));
  }

  /** Returns how to handle secrets and kept-out texts in a tenant's memory; undefined stores every text. */
  async tenantRedaction(row: TenantRow): Promise<Redaction | undefined> {
    const { secrets } = effectiveSettings(row, this.config);
    return redactionFor(secrets, this.scanner, await this.keptOut.textsFor(row));
  }

  /**
   * Returns a feature's object. The first call creates the object.
   *
   * @param create identifies the object, so it must be the same function in each call
   */
  featureService<T extends FeatureService>(create: (services: Services) => T): T {
    let service = this.#features.get(create);
    if (service === undefined) {
      service = create(this);
      this.#features.set(create, service);
    }
    return service as T;
  }

  /** Must be called after a text was erased from a tenant, so that this process keeps no copy of the text. */
  forgetErased(tenant: string): void {
    for (const service of this.#features.values()) service.forget?.(tenant);
  }

  /** Completes background writes and stops the threads. Must be called after the last request. */
  async close(): Promise<void> {
    this.watches.close();
    const features = [...this.#features.values()].map((each) => each.close());
    await Promise.all([this.accessTimes.close(), this.storedResults.close(), ...features]);
  }
}
