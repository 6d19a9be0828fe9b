import { LRUCache } from 'lru-cache';
import type { Config } from '../config.ts';
import { ServiceError } from '../errors/errors.ts';
import { mapMaybePromise } from '../lib/maybe-promise.ts';
import type { MemoryLimits } from '../memory/commands/command.ts';
import type { Mount } from '../memory/mount.ts';
import { effectiveSettings } from './effective-settings.ts';
import { NO_TENANT, type TenantRow } from './queries.ts';
import { createLookupLimiter } from './request-limiter.ts';
import type { EffectiveSettings, TenantSettings } from './settings.ts';
import type { Tenants } from './tenants.ts';

/** The policy for the requests of a tenant. 0 means no limit. */
export interface TenantPolicy
  extends Pick<EffectiveSettings, 'ratePerMinute' | 'secrets' | 'createExisting'> {
  limits: MemoryLimits;
  /** Of a request's body, where the tenant's limit is below the service's, which always holds; 0 otherwise. */
  maxBodyBytes: number;
  mounts: readonly Mount[];
  /** The tenant of which this one is a draft; null for any other tenant. */
  draftOf: string | null;
  /**
   * When the tenant was created, or `NO_TENANT`; null for whichever tenant has the id. Another tenant may have had it
   * before.
   */
  createdAt: string | null;
}

/**
 * Returns the tenant that rates, slots, searches, stored results, and usage count: of a draft, the tenant that it is
 * a draft of.
 */
export function countedAs(tenant: string, { draftOf }: Pick<TenantRow, 'draftOf'>): string {
  return draftOf ?? tenant;
}

const CACHED_TENANTS = 50_000;

/**
 * Looks up the policies of tenants. Results are cached, also for tenants that the caller may create, so a change
 * takes effect within `AUTH_CACHE_SECONDS`. That a tenant is unknown is never taken from the cache. Concurrent
 * lookups are limited, because a service key can name many tenants that are not cached.
 */
export class TenantPolicyCache {
  readonly #config: Config;
  readonly #defaults: TenantPolicy;
  /** Fetches by the caller's address. */
  readonly #cache: LRUCache<string, { row: TenantRow | undefined; policy: TenantPolicy }, string>;

  constructor(tenants: Pick<Tenants, 'find'>, config: Config) {
    this.#config = config;
    this.#defaults = this.#policyOf({});
    const lookups = createLookupLimiter(config.MAX_QUEUE_MS);
    this.#cache = new LRUCache({
      max: CACHED_TENANTS,
      ttl: config.AUTH_CACHE_SECONDS * 1000,
      // A lookup that is forgotten meanwhile is still a result for the requests that share it.
      ignoreFetchAbort: true,
      fetchMethod: async (tenant, _, { context: ip }) => {
        const row = await lookups.run(ip, () => tenants.find(tenant));
        return { row, policy: row ? this.#policyOf(row) : this.#defaults };
      },
    });
  }

  /**
   * Returns the policy of a tenant, synchronously when it is cached.
   *
   * @param options.autoCreate whether the tenant may not exist yet
   * @param options.ip the address of the caller: addresses take turns with lookups
   * @throws ServiceError 403 when the tenant is suspended, or does not exist and is not created; 503 when too many
   *   lookups wait
   */
  policyFor(
    tenant: string,
    { autoCreate, ip }: { autoCreate: boolean; ip: string },
  ): TenantPolicy | Promise<TenantPolicy> {
    const cached = this.#cache.get(tenant);
    // Another caller may have created the tenant since the last lookup.
    const forceRefresh = cached !== undefined && cached.row === undefined && !autoCreate;
    const current =
      cached === undefined || forceRefresh
        ? this.#cache.fetch(tenant, { context: ip, forceRefresh })
        : cached;
    return mapMaybePromise(current, (found) => {
      if (found?.row === undefined && !autoCreate) throw new ServiceError('unknown_tenant', tenant);
      if (found?.row?.suspendedAt) {
        throw new ServiceError('tenant_suspended', tenant);
      }
      return found?.policy ?? this.#defaults;
    });
  }

  /** Looks the tenant up again for its next request. */
  forget(tenant: string): void {
    this.#cache.delete(tenant);
  }

  #policyOf({
    mounts = [],
    draftOf = null,
    createdAt,
    ...own
  }: Partial<TenantSettings & Pick<TenantRow, 'mounts' | 'draftOf' | 'createdAt'>>): TenantPolicy {
    const settings = effectiveSettings(own, this.#config);
    const {
      maxFileBytes,
      maxViewChars,
      ratePerMinute,
      maxBodyBytes,
      secrets: secretsMode,
      createExisting,
    } = settings;
    return {
      limits: { maxFileBytes, maxViewChars },
      ratePerMinute,
      maxBodyBytes: maxBodyBytes < this.#config.MAX_BODY_BYTES ? maxBodyBytes : 0,
      secrets: secretsMode,
      createExisting,
      mounts,
      draftOf,
      createdAt: createdAt ?? NO_TENANT,
    };
  }
}
