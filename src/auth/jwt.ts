import { createPublicKey } from 'node:crypto';
import { errors, type JWTVerifyGetKey, jwtVerify } from 'jose';
import { ServiceError } from '../errors.ts';
import { TENANT_ID } from '../tenants/tenant-id.ts';
import type { ConcurrencyLimiter } from '../util/concurrency-limiter.ts';
import { RemoteKeySet } from './jwks.ts';
import { type Authenticator, bearerToken, type Caller, type Credentials, namedTenant } from './principal.ts';

export interface JwtOptions {
  /** URL of the issuer's keys, or one public key as PEM (SPKI). */
  jwksUrl?: string | undefined;
  publicKey?: string | undefined;
  issuer: string;
  audience: string;
  /** The claim that names the tenant. */
  tenantClaim: string;
  /** Accepted signature algorithms, asymmetric only. */
  algorithms: string[];
  clockSkewSeconds: number;
  autoCreate: boolean;
  /** Bounds the callers that wait for the issuer's keys. */
  lookups: ConcurrencyLimiter;
}

/**
 * Authenticates by JSON Web Tokens of the operator's issuer, in which a claim names the tenant. Keys are fetched from `jwksUrl` on
 * demand and cached.
 *
 * @throws Error immediately when `publicKey` is not a public key.
 */
export function jwtAuthenticator(options: JwtOptions): Authenticator {
  const { issuer, audience, algorithms, clockSkewSeconds, tenantClaim, autoCreate } = options;
  const keyFor = verificationKey(options);
  return {
    async authenticate(credentials) {
      const { tenant, ...caller } = await identify(credentials);
      const named = namedTenant(credentials);
      if (named !== undefined && named !== tenant) throw new ServiceError('tenant_mismatch');
      return { ...caller, tenant };
    },
    identify,
    forget: () => {},
    close: async () => {},
  };

  async function identify(credentials: Credentials): Promise<Caller & { tenant: string }> {
    const token = bearerToken(credentials);
    if (token === undefined) throw new ServiceError('unauthorized');
    let claim: unknown;
    let subject: unknown;
    try {
      const { payload } = await jwtVerify(token, keyFor(credentials.ip), {
        issuer,
        audience,
        algorithms,
        clockTolerance: clockSkewSeconds,
        // A token that never expires could not be revoked.
        requiredClaims: ['exp', tenantClaim],
      });
      claim = payload[tenantClaim];
      subject = payload.sub ?? null;
    } catch (error) {
      if (error instanceof ServiceError) throw error;
      // What jose throws for a token that does not fit the one configured key is a TypeError.
      const isOfToken = error instanceof errors.JOSEError || options.jwksUrl === undefined;
      throw new ServiceError(isOfToken ? 'unauthorized' : 'issuer_unavailable');
    }
    // RFC 7519, 4.1.2: a string.
    if (subject !== null && typeof subject !== 'string') throw new ServiceError('unauthorized');
    if (typeof claim !== 'string' || !TENANT_ID.test(claim)) throw new ServiceError('unauthorized');
    return {
      tenant: claim,
      access: 'read_write',
      autoCreate,
      managesStores: false,
      actor: { type: 'jwt', subject },
    };
  }
}

/** Returns the lookup of signing keys for a caller's address. */
function verificationKey({ jwksUrl, publicKey, lookups }: JwtOptions): (ip: string) => JWTVerifyGetKey {
  if (jwksUrl !== undefined) {
    const keys = new RemoteKeySet(new URL(jwksUrl), lookups);
    return (ip) => (header, token) => keys.find(header, token, ip);
  }
  const key = createPublicKey(publicKey ?? '');
  return () => async () => key;
}
