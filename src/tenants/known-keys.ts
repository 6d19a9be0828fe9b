import { LRUCache } from 'lru-cache';
import { ServiceError } from '../errors/errors.ts';
import type { ConcurrencyLimiter } from '../lib/concurrency-limiter.ts';
import { mapMaybePromise } from '../lib/maybe-promise.ts';
import { WriteBehindBuffer } from '../lib/write-behind-buffer.ts';
import type { Actor } from '../memory/origin.ts';
import type { FoundKeyRow } from './key-queries.ts';
import { hashOf, isApiKey, type Keys } from './keys.ts';
import { bearerToken, type Credentials } from './principal.ts';

const CACHED_KEYS = 10_000;
/** Hashes of keys that were valid at their last lookup. */
const REMEMBERED_VALID_KEYS = 100_000;
/** How old a key's last-used time may get before it is written again. */
const LAST_USED_RESOLUTION_MS = 5 * 60_000;

/** How long the use of a key stays unrecorded, so that `keys show` right after the first request is not wrong. */
const USE_FLUSH_MS = 1000;

/** A cached key; times as of `performance.now()`, which no correction of the clock changes. */
export interface KnownKey
  extends Pick<
    FoundKeyRow,
    'id' | 'tenant' | 'tenantCreatedAt' | 'isAdmin' | 'onlyTenants' | 'managesStores' | 'access' | 'isRevoked'
  > {
  actor: Actor;
  expiresAt: number;
  lastUsedAt: number;
}

/**
 * Finds the keys that requests come with. Lookups are cached for `cacheSeconds`, the longest time for which a revoked
 * key keeps working. Unknown keys have a cache of their own, so that guesses cannot evict keys in use.
 */
export class KnownKeys {
  readonly #failures: FailedAttempts;
  readonly #known: LRUCache<string, KnownKey>;
  readonly #unknown: LRUCache<string, true>;
  /** These may always be looked up again, however many attempts from their address have failed. */
  readonly #valid = new LRUCache<string, true>({ max: REMEMBERED_VALID_KEYS });
  readonly #lookups: ConcurrencyLimiter;
  /** A hint for operators. */
  readonly #used: WriteBehindBuffer<string>;

  constructor(
    keys: Pick<Keys, 'find' | 'noteUse'>,
    options: {
      cacheSeconds: number;
      failuresPerMinute: number;
      /** Bounds how many keys are looked up at once. */
      lookups: ConcurrencyLimiter;
    },
  ) {
    const ttl = options.cacheSeconds * 1000;
    this.#used = new WriteBehindBuffer((hashes) => keys.noteUse(hashes), CACHED_KEYS, {
      flushMs: USE_FLUSH_MS,
    });
    this.#lookups = options.lookups;
    this.#failures = new FailedAttempts(options.failuresPerMinute);
    this.#unknown = new LRUCache({ max: CACHED_KEYS, ttl });
    // `fetch` shares one lookup among concurrent requests, also one that is forgotten meanwhile.
    this.#known = new LRUCache({
      max: CACHED_KEYS,
      ttl,
      ignoreFetchAbort: true,
      fetchMethod: async (hash) => {
        const askedAt = performance.now();
        return knownKey(await keys.find(hash), askedAt);
      },
    });
  }

  /**
   * The valid key of a request; without a promise where it is cached.
   *
   * @throws ServiceError 401 when there is none, 429 after too many failed attempts.
   */
  identify(credentials: Credentials): KnownKey | Promise<KnownKey> {
    const given = bearerToken(credentials);
    // No attempt: nothing is guessed, and a page asks so whether it needs a key.
    if (given === undefined) throw new ServiceError('unauthorized');
    const hash = hashOf(given);
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

  /** Looks the keys of a tenant up again: it was deleted or renamed. */
  forget(tenant: string): void {
    for (const [hash, key] of this.#known.entries()) if (key.tenant === tenant) this.#known.delete(hash);
  }

  /** Writes when keys were last used, as far as that is still to be written. */
  close(): Promise<void> {
    return this.#used.flush();
  }

  async #find(hash: string, ip: string): Promise<KnownKey | undefined> {
    if (this.#unknown.has(hash)) return undefined;
    if (!this.#valid.has(hash)) this.#failures.check(ip);
    const key = await this.#lookups.run(ip, () => this.#known.fetch(hash));
    // A tenant that is deleted leaves its scope at once, and another one may have the id.
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
    managesStores,
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
    managesStores,
    access,
    isRevoked,
    actor: { type: isAdmin ? 'admin_key' : 'api_key', id, label, ...(source === '' ? {} : { source }) },
    expiresAt: now + (expiresInMs ?? Number.POSITIVE_INFINITY),
    lastUsedAt: now - (usedMsAgo ?? Number.POSITIVE_INFINITY),
  };
}

function isValid({ isRevoked, expiresAt }: KnownKey): boolean {
  return !isRevoked && expiresAt > performance.now();
}

const WINDOW_MS = 60_000;

/** Counts failed attempts by address, so that guesses do not each cost a database lookup. */
class FailedAttempts {
  readonly #limit: number;
  readonly #counts = new LRUCache<string, { count: number }>({ max: 10_000, ttl: WINDOW_MS });

  /** @param limit failures per minute and address; 0: no limit */
  constructor(limit: number) {
    this.#limit = limit;
  }

  note(ip: string): void {
    const entry = this.#counts.get(ip);
    if (entry) entry.count++;
    else this.#counts.set(ip, { count: 1 });
  }

  /** @throws ServiceError 429 when the address has failed too often within a minute. */
  check(ip: string): void {
    if (this.#limit === 0 || (this.#counts.get(ip)?.count ?? 0) < this.#limit) return;
    const seconds = Math.max(1, Math.ceil(this.#counts.getRemainingTTL(ip) / 1000));
    throw new ServiceError('too_many_failed_attempts', seconds);
  }
}
