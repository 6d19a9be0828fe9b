import { LRUCache } from 'lru-cache';
import type { Config } from '../config.ts';
import { ServiceError } from '../errors.ts';
import type { MemoryLimits } from '../memory/commands/command.ts';
import { createLookupLimiter } from '../util/concurrency-limiter.ts';
import { mapMaybePromise } from '../util/maybe-promise.ts';
import type { TenantRow } from './queries.ts';
import type { Tenants } from './tenants.ts';

/** What holds for a tenant's requests: its own settings, else the service's. 0 means no limit. */
export interface TenantPolicy {
  limits: MemoryLimits;
  ratePerMinute: number;
  /** Of a request's body, within the service's own limit. */
  maxBodyBytes: number;
  redact: 'off' | 'mask' | 'reject';
}

const CACHED_TENANTS = 50_000;

/**
 * Finds tenants and what holds for them. Look-ups are cached, also of tenants that do not exist, so a change takes effect within
 * `AUTH_CACHE_SECONDS`. Few are made at once: whoever may name any tenant can name many that are not cached.
 */
export class TenantPolicyCache {
  readonly #defaults: TenantPolicy;
  /** Fetches by the caller's address. */
  readonly #cache: LRUCache<string, { row: TenantRow | undefined; policy: TenantPolicy }, string>;

  constructor(tenants: Pick<Tenants, 'find'>, config: Config) {
    this.#defaults = {
      limits: { maxFileBytes: config.MAX_FILE_BYTES, maxViewChars: config.MAX_VIEW_CHARS },
      ratePerMinute: config.RATE_LIMIT_PER_MINUTE,
      // The service's own limit holds for all anyway.
      maxBodyBytes: 0,
      redact: config.REDACT,
    };
    const lookups = createLookupLimiter(config.MAX_QUEUE_MS);
    this.#cache = new LRUCache({
      max: CACHED_TENANTS,
      ttl: config.AUTH_CACHE_SECONDS * 1000,
      // Requests that come while a look-up is under way share it.
      fetchMethod: async (tenant, _, { context: ip }) => {
        const row = await lookups.run(ip, () => tenants.find(tenant));
        return { row, policy: this.#policyOf(row) };
      },
    });
  }

  /**
   * What holds for a tenant; without a promise where it is cached.
   *
   * @param options.autoCreate whether it may be one that does not exist yet
   * @param options.ip the address the request came from: addresses take turns to look up
   * @throws ServiceError 403 when it is suspended, or does not exist and is not to be made; 503 when too many wait for a look-up.
   */
  policyFor(
    tenant: string,
    { autoCreate, ip }: { autoCreate: boolean; ip: string },
  ): TenantPolicy | Promise<TenantPolicy> {
    const cached = this.#cache.get(tenant) ?? this.#cache.fetch(tenant, { context: ip });
    return mapMaybePromise(cached, (found) => {
      if (found?.row === undefined && !autoCreate) throw new ServiceError('unknown_tenant', tenant);
      if (found?.row?.suspendedAt) {
        throw new ServiceError('tenant_suspended', tenant);
      }
      return found?.policy ?? this.#defaults;
    });
  }

  #policyOf(row: TenantRow | undefined): TenantPolicy {
    if (row === undefined) return this.#defaults;
    const { limits, ratePerMinute, maxBodyBytes, redact } = this.#defaults;
    return {
      limits: {
        maxFileBytes: row.maxFileBytes ?? limits.maxFileBytes,
        maxViewChars: row.maxViewChars ?? limits.maxViewChars,
      },
      ratePerMinute: row.ratePerMinute ?? ratePerMinute,
      maxBodyBytes: row.maxBodyBytes ?? maxBodyBytes,
      redact: row.redact ?? redact,
    };
  }
}
