import { ServiceError } from '../errors.ts';
import { mapMaybePromise } from '../util/maybe-promise.ts';
import type { KnownKey, KnownKeys } from './known-keys.ts';
import { type Authenticator, type Credentials, namedTenant, type Principal } from './principal.ts';

/** Authenticates by tenants' and service keys. */
export class KeyAuthenticator implements Authenticator {
  readonly #keys: KnownKeys;
  readonly #autoCreate: boolean;

  constructor(keys: KnownKeys, { autoCreate }: { autoCreate: boolean }) {
    this.#keys = keys;
    this.#autoCreate = autoCreate;
  }

  authenticate(credentials: Credentials): Principal | Promise<Principal> {
    return mapMaybePromise(this.#keys.identify(credentials), (key) => this.#principalOf(key, credentials));
  }

  #principalOf({ tenant, isAdmin, actor, access }: KnownKey, credentials: Credentials): Principal {
    if (isAdmin) throw new ServiceError('is_admin_key');
    const named = namedTenant(credentials);
    if (tenant !== null) {
      if (named !== undefined && named !== tenant) throw new ServiceError('tenant_mismatch');
      return { tenant, actor, access, autoCreate: false };
    }
    if (named === undefined) throw new ServiceError('tenant_required');
    return { tenant: named, actor, access, autoCreate: this.#autoCreate };
  }

  close(): Promise<void> {
    return this.#keys.close();
  }
}
