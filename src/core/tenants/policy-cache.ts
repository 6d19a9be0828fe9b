import { LRUCache } from 'lru-cache';
import type { Config } from '../config.ts';
import { ServiceError } from '../errors/errors.ts';
import { maxEntries } from '../lib/max-entries.ts';
import { mapMaybePromise } from '../lib/maybe-promise.ts';
import type { MemoryLimits } from '../memory/commands/memory-command.ts';
import type { Mount } from '../memory/mount.ts';
import { effectiveSettings } from './effective-settings.ts';
import type { KeptOutLists } from './kept-out-lists.ts';
import { NO_TENANT, type TenantRow } from './queries.ts';
import { createLookupLimiter } from './request-limiter.ts';
import type { EffectiveSettings, TenantSettings } from './settings.ts';
import type { Tenants } from './tenants.ts';

/** The policy for a tenant's requests. 0 means no limit. */
export interface TenantPolicy
  extends Pick<
    EffectiveSettings,
    | 'ratePerMinute'
    | 'secrets'
    | 'createExisting'
    | 'maxContextChars'
    | 'pinnedPaths'
    | 'readLogDays'
    | 'readLog'
    | 'provenance'
  > {
  limits: MemoryLimits;
  /**
   * Maximum request body size, if the tenant's limit is below the service's limit; 0 otherwise. The service's limit
   * always applies.
   */
  maxBodyBytes: number;
  mounts: readonly Mount[];
  /** Original tenant, if this tenant is a draft; null for other tenants. */
  draftOf: string | null;
  /**
   * The tenant's creation time, or `NO_TENANT`; null accepts any tenant with the ID. A deleted tenant may have had the
   * same ID.
   */
  createdAt: string | null;
  /** Time of the lookup, by `performance.now()`. */
  readAt: number;
}

/**
 * Returns the tenant whose rates, slots, searches, stored results, and usage a request counts towards. For a draft,
 * this is the original tenant.
 */
export function countedAs(tenant: string, { draftOf }: Pick<TenantRow, 'draftOf'>): string {
  return draftOf ?? tenant;
}

const CACHED_TENANTS = 50_000;
const ALLOW_STALE = { allowStale: true };

/**
 * Looks up and caches tenant policies, including missing tenants that the caller may create. A change applies within
 * `AUTH_CACHE_SECONDS`. A request for a missing tenant is rejected only after a new lookup. Concurrent lookups are
 * limited, because a service key can name many tenants that are not cached.
 */
export class TenantPolicyCache {
  readonly #config: Config;
  readonly #defaults: TenantPolicy;
  /** Lookups are shared fairly by caller address. */
  readonly #cache: LRUCache<string, { row: TenantRow | undefined; policy: TenantPolicy }, string>;

  constructor(tenants: Pick<Tenants, 'find'>, config: Config, keptOut?: Pick<KeptOutLists, 'check'>) {
    this.#config = config;
    this.#defaults = this.#toPolicy({});
    const lookups = createLookupLimiter(config.MAX_QUEUE_MS);
    this.#cache = new LRUCache({
      ...maxEntries(CACHED_TENANTS),
      ttl: config.AUTH_CACHE_SECONDS * 1000,
      // If a tenant is removed from the cache during a lookup, waiting requests still get the result.
      ignoreFetchAbort: true,
      fetchMethod: async (tenant, _, { context: ip }) => {
        const readAt = performance.now();
        const found = lookups.run(ip, () => tenants.find(tenant));
        const [row] = await Promise.all([found, keptOut?.check()]);
        return { row, policy: this.#toPolicy(row ?? {}, readAt) };
      },
    });
  }

  /**
   * Returns a tenant's policy, synchronously if it is cached.
   *
   * @param options.autoCreate whether the tenant may be missing
   * @param options.ip caller address, to share lookups fairly between addresses
   * @throws ServiceError 403 if the tenant is suspended, or is missing and cannot be created; 503 if too many lookups
   *   are waiting
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

  /** Returns a recently used tenant's policy, which may be outdated; undefined if the cache does not have it. */
  recentPolicy(tenant: string): TenantPolicy | undefined {
    return this.#cache.peek(tenant, ALLOW_STALE)?.policy;
  }

  /** Removes a tenant from the cache. */
  forget(tenant: string): void {
    this.#cache.delete(tenant);
  }

  #toPolicy(
    row: Partial<TenantSettings & Pick<TenantRow, 'mounts' | 'draftOf' | 'createdAt'>>,
    readAt = performance.now(),
  ): TenantPolicy {
    const { mounts = [], draftOf = null, createdAt, ...own } = row;
    const settings = effectiveSettings(own, this.#config);
    const {
      maxFileBytes,
      maxViewChars,
      ratePerMinute,
      maxBodyBytes,
      secrets: secretsMode,
      createExisting,
      maxContextChars,
      pinnedPaths,
      readLogDays,
      readLog,
      provenance,
    } = settings;
    return {
      limits: { maxFileBytes, maxViewChars },
      ratePerMinute,
      maxBodyBytes: maxBodyBytes < this.#config.MAX_BODY_BYTES ? maxBodyBytes : 0,
      secrets: secretsMode,
      createExisting,
      maxContextChars,
      pinnedPaths,
      readLogDays,
      readLog,
      provenance,
      mounts,
      draftOf,
      createdAt: createdAt ?? NO_TENANT,
      readAt,
    };
  }
}
