import { type Authenticator, namedTenant } from './principal.ts';

const DEFAULT_TENANT = 'default';

/** No authentication: the request names its tenant; the default is `default`. */
export function noAuthentication(options: { autoCreate: boolean }): Authenticator {
  const caller = {
    actor: { type: 'anonymous' },
    access: 'read_write',
    autoCreate: options.autoCreate,
  } as const;
  return {
    authenticate: (credentials) => ({ ...caller, tenant: namedTenant(credentials) ?? DEFAULT_TENANT }),
    identify: () => ({ ...caller, tenant: null, managesStores: true }),
    close: async () => {},
  };
}
