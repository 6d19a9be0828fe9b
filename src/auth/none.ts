import { type Authenticator, namedTenant } from './principal.ts';

const DEFAULT_TENANT = 'default';

/** No authentication: the request names its tenant; the default is `default`. */
export function noAuthentication(options: { autoCreate: boolean }): Authenticator {
  return {
    authenticate: (credentials) => ({
      tenant: namedTenant(credentials) ?? DEFAULT_TENANT,
      actor: { type: 'anonymous' },
      access: 'read_write',
      autoCreate: options.autoCreate,
    }),
    close: async () => {},
  };
}
