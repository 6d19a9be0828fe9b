import { ServiceError } from '../errors.ts';
import { mapMaybePromise } from '../util/maybe-promise.ts';
import type { KnownKey, KnownKeys } from './known-keys.ts';
import {
  type Authenticator,
  type Caller,
  type Credentials,
  namedTenant,
  type Principal,
} from './principal.ts';

/** Authenticates by tenants' and service keys. */
export class KeyAuthenticator implements Authenticator {
  readonly #keys: KnownKeys;
  readonly #autoCreate: boolean;

  constructor(keys: KnownKeys, { autoCreate }: { autoCreate: boolean }) {
    this.#keys = keys;
    this.#autoCreate = autoCreate;
  }

  authenticate(credentials: Credentials): Principal | Promise<Principal> {
    return mapMaybePromise(this.identify(credentials), (caller) => principalOf(caller, credentials));
  }

  identify(credentials: Credentials): Caller | Promise<Caller> {
    return mapMaybePromise(this.#keys.identify(credentials), (key) => this.#callerOf(key));
  }

  #callerOf({ tenant, isAdmin, managesStores, actor, access }: KnownKey): Caller {
    if (isAdmin) throw new ServiceError('is_admin_key');
    return { tenant, actor, access, managesStores, autoCreate: tenant === null && this.#autoCreate };
  }

  close(): Promise<void> {
    return this.#keys.close();
  }
}

function principalOf({ tenant, actor, access, autoCreate }: Caller, credentials: Credentials): Principal {
  const named = namedTenant(credentials);
  if (tenant !== null) {
    if (named !== undefined && named !== tenant) throw new ServiceError('tenant_mismatch');
    return { tenant, actor, access, autoCreate };
  }
  if (named === undefined) throw new ServiceError('tenant_required');
  return { tenant: named, actor, access, autoCreate };
}
