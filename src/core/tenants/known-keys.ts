import { LRUCache } from 'lru-cache';
import { ServiceError } from '../errors/errors.ts';
import type { ConcurrencyLimiter } from '../lib/concurrency-limiter.ts';
import { maxEntries } from '../lib/max-entries.ts';
import { mapMaybePromise } from '../lib/maybe-promise.ts';
import { WriteBehindBuffer } from '../lib/write-behind-buffer.ts';
import type { Actor } from '../memory/origin.ts';
import { FailedAttempts } from './failed-attempts.ts';
import type { FoundKeyRow } from './key-queries.ts';
import { hashKey, isApiKey, type Keys } from './keys.ts';
import { bearerToken, type Credentials } from './principal.ts';

const CACHED_KEYS = 10_000;
/** Maximum number of remembered hashes for keys that were valid at their last lookup. */
const REMEMBERED_VALID_KEYS = 100_000;
/** Minimum age of a key's last-used time before it is updated. */
const LAST_USED_RESOLUTION_MS = 5 * 60_000;

/** Delay before a key's use is recorded. Short, so that `keys show` is correct soon after the first request. */
const USE_FLUSH_MS = 1000;

/** A cached key. Times refer to `performance.now()`, which is unaffected by clock corrections. */
export interface KnownKey
  extends Pick<
    FoundKeyRow,
    | 'id'
    | 'tenant'
    | 'tenantCreatedAt'
    | 'isAdmin'
    | 'onlyTenants'
    | 'rights'
    | 'managesStores'
    | 'canShare'
    | 'access'
    | 'isRevoked'
  > {
  actor: Actor;
  readAt: number;
  expiresAt: number;
  lastUsedAt: number;
}

/**
 * Finds the keys for requests. Lookups are cached for `cacheSeconds`, so a revoked key is accepted for at most this
 * time. Unknown keys have a separate cache, so that guesses cannot evict keys in use.
 */
export class KnownKeys {
  readonly #failures: FailedAttempts;
  readonly #known: LRUCache<string, KnownKey>;
  readonly #unknown: LRUCache<string, true>;
  /** Hashes of valid keys, whose lookups are allowed regardless of failed attempts from the same address. */
  readonly #valid = new LRUCache<string, true>(maxEntries(REMEMBERED_VALID_KEYS));
  readonly #lookups: ConcurrencyLimiter;
  /** The last token on each connection, because a client sends one token in all requests on a connection. */
  readonly #tokens = new WeakMap<object, { token: string; hash: string }>();
  /** Keys whose use is not recorded yet. A recorded use is only a hint for operators. */
  readonly #used: WriteBehindBuffer<string>;

  constructor(
    keys: Pick<Keys, 'find' | 'noteUse'>,
    options: {
      cacheSeconds: number;
      failuresPerMinute: number;
      /** Limits concurrent key lookups. */
      lookups: ConcurrencyLimiter;
    },
  ) {
    const ttl = options.cacheSeconds * 1000;
    this.#used = new WriteBehindBuffer((hashes) => keys.noteUse(hashes), CACHED_KEYS, {
      flushMs: USE_FLUSH_MS,
    });
    this.#lookups = options.lookups;
    this.#failures = new FailedAttempts(options.failuresPerMinute, 'too_many_failed_attempts');
    this.#unknown = new LRUCache({ ...maxEntries(CACHED_KEYS), ttl });
    // `fetch` shares one lookup among concurrent requests, even if the key is removed from the cache during the lookup.
    this.#known = new LRUCache({
      ...maxEntries(CACHED_KEYS),
      ttl,
      ignoreFetchAbort: true,
      fetchMethod: async (hash) => {
        const askedAt = performance.now();
        return knownKey(await keys.find(hash), askedAt);
      },
    });
  }

  /**
   * Returns the valid key for a request, synchronously if the key is cached.
   *
   * @throws ServiceError 401 without a valid key, 429 after too many failed attempts
   */
  identify(credentials: Credentials): KnownKey | Promise<KnownKey> {
    const given = bearerToken(credentials);
    // A missing key is not counted as a failed attempt, because the console sends a request without a key to find out
    // whether a key is needed.
    if (given === undefined) throw new ServiceError('unauthorized');
    const hash = this.#hashToken(given, credentials);
    const key = this.#known.get(hash) ?? (isApiKey(given) ? this.#find(hash, credentials.ip) : undefined);
    return mapMaybePromise(key, (found) => {
      if (found === undefined || !isValid(found)) {
        this.#failures.note(credentials.ip);
        throw new ServiceError('unauthorized');
      }
      this.#noteUse(hash, found);
      return found;
    });
  }

  /** Removes a deleted or renamed tenant's keys from the cache. */
  forget(tenant: string): void {
    for (const [hash, key] of this.#known.entries()) if (key.tenant === tenant) this.#known.delete(hash);
  }

  /** Records the pending last-used times. */
  close(): Promise<void> {
    return this.#used.flush();
  }

  #hashToken(token: string, { socket }: Credentials): string {
    const last = socket && this.#tokens.get(socket);
    if (last?.token === token) return last.hash;
    const hash = hashKey(token);
    if (socket) this.#tokens.set(socket, { token, hash });
    return hash;
  }

  async #find(hash: string, ip: string): Promise<KnownKey | undefined> {
    if (this.#unknown.has(hash)) return undefined;
    if (!this.#valid.has(hash)) this.#failures.check(ip);
    const key = await this.#lookups.run(ip, () => this.#known.fetch(hash));
    // Not cached, because a deleted tenant must disappear from the scope immediately: another tenant may get its ID.
    if (key !== undefined && key.onlyTenants !== null) this.#known.delete(hash);
    if (key === undefined) this.#unknown.set(hash, true);
    if (key !== undefined && isValid(key)) this.#valid.set(hash, true);
    else this.#valid.delete(hash);
    return key;
  }

  #noteUse(hash: string, key: KnownKey): void {
    const now = performance.now();
    if (now - key.lastUsedAt < LAST_USED_RESOLUTION_MS) return;
    key.lastUsedAt = now;
    this.#used.add(hash, hash);
  }
}

function knownKey(row: FoundKeyRow | undefined, now: number): KnownKey | undefined {
  if (row === undefined) return undefined;
  const {
    id,
    label,
    source,
    tenant,
    tenantCreatedAt,
    isAdmin,
    onlyTenants,
    rights,
    managesStores,
    canShare,
    access,
    isRevoked,
    expiresInMs,
    usedMsAgo,
  } = row;
  return {
    id,
    tenant,
    tenantCreatedAt,
    isAdmin,
    onlyTenants,
    rights,
    managesStores,
    canShare,
    access,
    isRevoked,
    actor: { type: isAdmin ? 'admin_key' : 'api_key', id, label, ...(source === '' ? {} : { source }) },
    readAt: now,
    expiresAt: now + (expiresInMs ?? Number.POSITIVE_INFINITY),
    lastUsedAt: now - (usedMsAgo ?? Number.POSITIVE_INFINITY),
  };
}

function isValid({ isRevoked, expiresAt }: KnownKey): boolean {
  return !isRevoked && expiresAt > performance.now();
}
