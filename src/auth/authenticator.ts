import type { Config } from '../config.ts';
import type { Database } from '../postgres/database.ts';
import { createLookupLimiter } from '../request-limiter.ts';
import {
  type AdminAuthenticator,
  adminKeyAuthentication,
  noAdminAuthentication,
} from './admin-authenticator.ts';
import { Keys } from './api-keys.ts';
import { KeyAuthenticator } from './key-authenticator.ts';
import { KnownKeys } from './known-keys.ts';
import { noAuthentication } from './none.ts';
import type { Authenticator } from './principal.ts';

/** Creates the configured authenticator. */
export async function createAuthenticator(config: Config, database: Database): Promise<Authenticator> {
  const autoCreate = config.AUTO_CREATE_TENANTS;
  switch (config.AUTH) {
    case 'none':
      return noAuthentication({ autoCreate: autoCreate ?? true });
    case 'keys':
      return new KeyAuthenticator(knownKeys(config, database), { autoCreate: autoCreate ?? true });
    case 'jwt': {
      // Imported on demand: it takes longer to load than the others together.
      const { jwtAuthenticator } = await import('./jwt.ts');
      return jwtAuthenticator({
        jwksUrl: config.JWKS_URL,
        publicKey: config.JWT_PUBLIC_KEY,
        issuer: config.JWT_ISSUER ?? '',
        audience: config.JWT_AUDIENCE ?? '',
        tenantClaim: config.JWT_TENANT_CLAIM,
        algorithms: config.JWT_ALGORITHMS,
        clockSkewSeconds: config.JWT_CLOCK_SKEW_SECONDS,
        autoCreate: autoCreate ?? false,
        lookups: createLookupLimiter(config.MAX_QUEUE_MS),
      });
    }
  }
}

/** Creates the authenticator of the admin API: admin keys, also where tenants have tokens, or none with `AUTH=none`. */
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
