import { createPublicKey } from 'node:crypto';
import { createRemoteJWKSet, errors, jwtVerify } from 'jose';
import { ServiceError } from '../errors.ts';
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
}

/**
 * JSON Web Tokens of an issuer of the operator's: a claim names the tenant. Keys are fetched from `jwksUrl` when one is
 * needed that is not known, and cached.
 *
 * @throws Error at once when `publicKey` is not a public key.
 */
export function jwtAuthenticator(options: JwtOptions): Authenticator {
  const { issuer, audience, algorithms, clockSkewSeconds, tenantClaim, autoCreate } = options;
  const key = verificationKey(options);
  return {
    async authenticate(credentials) {
      const token = bearerToken(credentials);
      if (token === undefined) throw unauthorized();
      let claim: unknown;
      try {
        const { payload } = await jwtVerify(token, key, {
          issuer,
          audience,
          algorithms,
          clockTolerance: clockSkewSeconds,
          // A token that never expires could not be taken back.
          requiredClaims: ['exp', tenantClaim],
        });
        claim = payload[tenantClaim];
      } catch (error) {
        throw isTokenFault(error) ? unauthorized() : issuerUnavailable();
      }
      if (typeof claim !== 'string' || !TENANT_ID.test(claim)) throw unauthorized();
      const named = namedTenant(credentials);
      if (named !== undefined && named !== claim) throw otherTenant();
      return { tenant: claim, access: 'read_write', autoCreate };
    },
    close: async () => {},
  };
}

function verificationKey({ jwksUrl, publicKey }: JwtOptions) {
  if (jwksUrl !== undefined) return createRemoteJWKSet(new URL(jwksUrl));
  const key = createPublicKey(publicKey ?? '');
  return async () => key;
}

/** Whether the token is at fault; else the issuer's keys could not be had. */
function isTokenFault(error: unknown): boolean {
  if (!(error instanceof errors.JOSEError)) return false;
  return !['ERR_JWKS_TIMEOUT', 'ERR_JWKS_INVALID', 'ERR_JOSE_GENERIC'].includes(error.code);
}

function issuerUnavailable(): ServiceError {
  return new ServiceError(
    503,
    'issuer_unavailable',
    "The token issuer's keys cannot be fetched. Try again shortly.",
    {
      retryAfter: 2,
    },
  );
}
