import type { Config } from '../config.ts';
import type { Database } from '../database/database.ts';
import { ServiceError } from '../errors/errors.ts';
import { mapMaybePromise } from '../lib/maybe-promise.ts';
import type { Actor } from '../memory/origin.ts';
import type { AdminAccess } from '../variable-schemas.ts';
import { Keys } from './keys.ts';
import { type KnownKey, KnownKeys } from './known-keys.ts';
import {
  type Authenticator,
  type Caller,
  type Credentials,
  namedTenant,
  type Principal,
  type Validity,
} from './principal.ts';
import { createLookupLimiter } from './request-limiter.ts';

/** An admin API caller. */
export interface Administrator extends Validity {
  /** Actor recorded with changes. */
  actor: Actor;
  access: AdminAccess;
  /** Tenants that the caller administers; null means all. */
  onlyTenants: string[] | null;
  /** Host on which an operator runs the command line. */
  host?: string;
}

export interface AdminAuthenticator {
  /** @throws ServiceError 401, 403, or 429 */
  authenticate(credentials: Credentials): Administrator | Promise<Administrator>;
  /** Flushes background writes. */
  close(): Promise<void>;
}

export function adminKeyAuthentication(keys: KnownKeys): AdminAuthenticator {
  return {
    authenticate: (credentials) =>
      mapMaybePromise(
        keys.identify(credentials),
        ({ isAdmin, actor, access, onlyTenants, readAt, expiresAt }) => {
          if (!isAdmin) throw new ServiceError('not_an_admin_key');
          return {
            actor,
            access: access === 'propose' ? 'read_only' : access,
            onlyTenants,
            readAt,
            expiresAt,
          };
        },
      ),
    close: () => keys.close(),
  };
}

/** Accepts every caller. Only for a loopback address. */
export function noAdminAuthentication(): AdminAuthenticator {
  return {
    authenticate: () => ({ actor: { type: 'anonymous' }, access: 'read_write', onlyTenants: null }),
    close: async () => {},
  };
}

export async function createAuthenticator(config: Config, database: Database): Promise<Authenticator> {
  const autoCreate = config.AUTO_CREATE_TENANTS;
  switch (config.AUTH) {
    case 'none':
      return noAuthentication({ autoCreate: autoCreate ?? true });
    case 'keys':
      return new KeyAuthenticator(knownKeys(config, database), { autoCreate: autoCreate ?? true });
    case 'jwt': {
      // Imported on demand, because jwt.ts loads more slowly than the other modules together.
      const { jwtAuthenticator } = await import('./jwt.ts');
      return jwtAuthenticator({
        jwksUrl: config.JWKS_URL,
        publicKey: config.JWT_PUBLIC_KEY,
        issuer: config.JWT_ISSUER ?? '',
        audience: config.JWT_AUDIENCE ?? '',
        tenantClaim: config.JWT_TENANT_CLAIM,
        rightsClaim: config.JWT_RIGHTS_CLAIM,
        shareClaim: config.JWT_SHARE_CLAIM,
        algorithms: config.JWT_ALGORITHMS,
        clockSkewSeconds: config.JWT_CLOCK_SKEW_SECONDS,
        autoCreate: autoCreate ?? false,
        lookups: createLookupLimiter(config.MAX_QUEUE_MS),
      });
    }
  }
}

/**
 * Creates the authenticator for the admin API. It accepts admin keys, even if tenants use tokens. With `AUTH=none`, it
 * accepts every caller.
 */
export function createAdminAuthenticator(config: Config, database: Database): AdminAuthenticator {
  return config.AUTH === 'none'
    ? noAdminAuthentication()
    : adminKeyAuthentication(knownKeys(config, database));
}

function knownKeys(config: Config, database: Database): KnownKeys {
  return new KnownKeys(new Keys(database), {
    cacheSeconds: config.AUTH_CACHE_SECONDS,
    failuresPerMinute: config.AUTH_FAILURES_PER_MINUTE,
    lookups: createLookupLimiter(config.MAX_QUEUE_MS),
  });
}

/** Authenticates by tenant keys and service keys. */
class KeyAuthenticator implements Authenticator {
  readonly #keys: KnownKeys;
  readonly #autoCreate: boolean;

  constructor(keys: KnownKeys, { autoCreate }: { autoCreate: boolean }) {
    this.#keys = keys;
    this.#autoCreate = autoCreate;
  }

  authenticate(credentials: Credentials): Principal | Promise<Principal> {
    return mapMaybePromise(this.identify(credentials), (caller) => toPrincipal(caller, credentials));
  }

  identify(credentials: Credentials): Caller | Promise<Caller> {
    return mapMaybePromise(this.#keys.identify(credentials), (key) => this.#toCaller(key));
  }

  #toCaller(key: KnownKey): Caller {
    const { id, tenant, tenantCreatedAt, isAdmin, managesStores, canShare, actor, access, rights } = key;
    const { readAt, expiresAt } = key;
    if (isAdmin) throw new ServiceError('is_admin_key');
    return {
      tenant,
      tenantCreatedAt: tenantCreatedAt ?? undefined,
      actor,
      managesStores,
      canShare,
      access: access === 'read_write' || access === 'propose' ? 'read_write' : 'read_only',
      rights: rights ?? undefined,
      proposesAs: access === 'propose' ? id : undefined,
      autoCreate: tenant === null && this.#autoCreate,
      readAt,
      expiresAt,
    };
  }

  forget(tenant: string): void {
    this.#keys.forget(tenant);
  }

  close(): Promise<void> {
    return this.#keys.close();
  }
}

function toPrincipal(caller: Caller, credentials: Credentials): Principal {
  const { tenant, managesStores: _, ...principal } = caller;
  const named = namedTenant(credentials);
  if (tenant !== null && named !== undefined && named !== tenant) throw new ServiceError('tenant_mismatch');
  const own = tenant ?? named;
  if (own === undefined) throw new ServiceError('tenant_required');
  return { ...principal, tenant: own };
}

const DEFAULT_TENANT = 'default';

/** Accepts every request. The request names its tenant; the default is `default`. */
function noAuthentication(options: { autoCreate: boolean }): Authenticator {
  const caller = {
    actor: { type: 'anonymous' },
    access: 'read_write',
    autoCreate: options.autoCreate,
    canShare: true,
  } as const;
  return {
    authenticate: (credentials) => ({ ...caller, tenant: namedTenant(credentials) ?? DEFAULT_TENANT }),
    identify: () => ({ ...caller, tenant: null, managesStores: true }),
    forget: () => {},
    close: async () => {},
  };
}
