import { ServiceError } from '../errors.ts';
import type { Actor } from '../memory/origin.ts';
import { mapMaybePromise } from '../util/maybe-promise.ts';
import type { KeyRow } from './key-queries.ts';
import type { KnownKeys } from './known-keys.ts';
import type { Credentials } from './principal.ts';

/** The caller of the admin API. */
export interface Administrator {
  /** Whom the history names. */
  actor: Actor;
  access: Exclude<KeyRow['access'], 'propose'>;
  /** The only tenants that the caller administers; null: all. */
  onlyTenants: string[] | null;
}

/** A method of authentication for the admin API. */
export interface AdminAuthenticator {
  /** @throws ServiceError 401, 403 or 429. */
  authenticate(credentials: Credentials): Administrator | Promise<Administrator>;
  /** Flushes background writes. */
  close(): Promise<void>;
}

/** Authenticates by admin keys. */
export function adminKeyAuthentication(keys: KnownKeys): AdminAuthenticator {
  return {
    authenticate: (credentials) =>
      mapMaybePromise(keys.identify(credentials), ({ isAdmin, actor, access, onlyTenants }) => {
        if (!isAdmin) throw new ServiceError('not_an_admin_key');
        return { actor, access: access === 'propose' ? 'read_only' : access, onlyTenants };
      }),
    close: () => keys.close(),
  };
}

/** No authentication, on a loopback address. */
export function noAdminAuthentication(): AdminAuthenticator {
  return {
    authenticate: () => ({ actor: { type: 'anonymous' }, access: 'read_write', onlyTenants: null }),
    close: async () => {},
  };
}
