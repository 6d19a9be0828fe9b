import { createPublicKey } from 'node:crypto';
import { errors, type JWTVerifyGetKey, jwtVerify } from 'jose';
import { ServiceError } from '../errors.ts';
import type { ConcurrencyLimiter } from '../util/concurrency-limiter.ts';
import { issuerUnavailable, RemoteKeySet } from './jwks.ts';
import {
  type Authenticator,
  bearerToken,
  namedTenant,
  otherTenant,
  TENANT_ID,
  unauthorized,
} from './principal.ts';

export interface JwtOptions {
  /** Where the issuer publishes its keys, or one public key as PEM (SPKI). */
  jwksUrl?: string | undefined;
  publicKey?: string | undefined;
  issuer: string;
  audience: string;
  /** The claim that names the tenant. */
  tenantClaim: string;
  /** Accepted signature algorithms; asymmetric ones only. */
  algorithms: string[];
  clockSkewSeconds: number;
  autoCreate: boolean;
  /** Bounds how many callers wait for the issuer's keys. */
  lookups: ConcurrencyLimiter;
}

/**
 * JSON Web Tokens of an issuer of the operator's: a claim names the tenant. Keys are fetched from `jwksUrl` when one is
 * needed that is not known, and cached.
 *
 * @throws Error at once when `publicKey` is not a public key.
 */
export function jwtAuthenticator(options: JwtOptions): Authenticator {
  const { issuer, audience, algorithms, clockSkewSeconds, tenantClaim, autoCreate } = options;
  const keyFor = verificationKey(options);
  return {
    async authenticate(credentials) {
      const token = bearerToken(credentials);
      if (token === undefined) throw unauthorized();
      let claim: unknown;
      try {
        const { payload } = await jwtVerify(token, keyFor(credentials.ip), {
          issuer,
          audience,
          algorithms,
          clockTolerance: clockSkewSeconds,
          // A token that never expires could not be taken back.
          requiredClaims: ['exp', tenantClaim],
        });
        claim = payload[tenantClaim];
      } catch (error) {
        if (error instanceof ServiceError) throw error;
        throw error instanceof errors.JOSEError ? unauthorized() : issuerUnavailable();
      }
      if (typeof claim !== 'string' || !TENANT_ID.test(claim)) throw unauthorized();
      const named = namedTenant(credentials);
      if (named !== undefined && named !== claim) throw otherTenant();
      return { tenant: claim, access: 'read_write', autoCreate };
    },
    close: async () => {},
  };
}

/** How to find the key of a token that came from an address. */
function verificationKey({ jwksUrl, publicKey, lookups }: JwtOptions): (ip: string) => JWTVerifyGetKey {
  if (jwksUrl !== undefined) {
    const keys = new RemoteKeySet(new URL(jwksUrl), lookups);
    return (ip) => (header, token) => keys.find(header, token, ip);
  }
  const key = createPublicKey(publicKey ?? '');
  return () => async () => key;
}
