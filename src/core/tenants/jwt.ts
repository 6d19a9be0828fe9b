import { createPublicKey } from 'node:crypto';
import {
  createLocalJWKSet,
  errors,
  type JSONWebKeySet,
  type JWSHeaderParameters,
  type JWTVerifyGetKey,
  jwtVerify,
} from 'jose';
import { z } from 'zod';
import { ServiceError } from '../errors/errors.ts';
import type { ConcurrencyLimiter } from '../lib/concurrency-limiter.ts';
import { rightsSchema } from '../memory/rights.ts';
import { TENANT_ID } from './ids.ts';
import { type Authenticator, bearerToken, type Caller, type Credentials, namedTenant } from './principal.ts';

const MAX_AGE_MS = 10 * 60_000;
const FETCH_TIMEOUT_MS = 5000;
const MAX_BYTES = 1024 * 1024;
/** Maximum burst of fetches. After the burst, one fetch per `FETCH_INTERVAL_MS`. */
const FETCH_BURST = 5;
const FETCH_INTERVAL_MS = 1000;

type KeySet = ReturnType<typeof createLocalJWKSet>;
type Token = Parameters<JWTVerifyGetKey>[1];

/**
 * The issuer's keys, fetched from a URL: on first use, for a token with an unknown key, and in the background if the
 * keys are old. Concurrent callers share one fetch. If a fetch fails or returns no keys, the previous keys remain in
 * use.
 */
export class RemoteKeySet {
  readonly #url: URL;
  readonly #lookups: ConcurrencyLimiter;
  #keys: KeySet | undefined;
  #fetchedAt = 0;
  #pending: Promise<void> | undefined;
  #allowance = FETCH_BURST;
  #allowanceAt = performance.now();

  /** @param lookups limits the unauthenticated callers that wait for a fetch */
  constructor(url: URL, lookups: ConcurrencyLimiter) {
    this.#url = url;
    this.#lookups = lookups;
  }

  /**
   * Returns the key that the token names as its signing key.
   *
   * @throws JWKSNoMatchingKey if the issuer has no such key
   * @throws ServiceError 503 if no keys have been fetched yet, or too many callers are waiting
   */
  async find(header: JWSHeaderParameters, token: Token, ip: string) {
    if (this.#keys === undefined) await this.#waitForFetch(ip);
    else if (performance.now() - this.#fetchedAt > MAX_AGE_MS) this.#fetchInBackground();
    try {
      return await this.#findKnownKey(header, token);
    } catch (error) {
      if (!(error instanceof errors.JWKSNoMatchingKey)) throw error;
      await this.#waitForFetch(ip);
      return this.#findKnownKey(header, token);
    }
  }

  #findKnownKey(header: JWSHeaderParameters, token: Token) {
    if (this.#keys === undefined) throw new ServiceError('issuer_unavailable');
    return this.#keys(header, token);
  }

  /** Ignores a failed fetch. The caller then uses the cached keys. */
  async #waitForFetch(ip: string): Promise<void> {
    await this.#lookups.run(ip, async () => {
      await this.#fetchInBackground();
    });
  }

  #fetchInBackground(): Promise<void> | undefined {
    if (this.#pending === undefined && this.#mayFetch()) {
      this.#pending = fetchKeySet(this.#url)
        .then((keys) => {
          this.#keys = keys;
          this.#fetchedAt = performance.now();
        })
        .catch(() => {})
        .finally(() => {
          this.#pending = undefined;
        });
    }
    return this.#pending;
  }

  #mayFetch(): boolean {
    const now = performance.now();
    const earned = (now - this.#allowanceAt) / FETCH_INTERVAL_MS;
    this.#allowance = Math.min(FETCH_BURST, this.#allowance + earned);
    this.#allowanceAt = now;
    if (this.#allowance < 1) return false;
    this.#allowance--;
    return true;
  }
}

/** @throws Error unless the response is a non-empty key set within the time and size limits */
async function fetchKeySet(url: URL): Promise<KeySet> {
  const response = await fetch(url, {
    signal: AbortSignal.timeout(FETCH_TIMEOUT_MS),
    redirect: 'error',
    headers: { accept: 'application/json, application/jwk-set+json' },
  });
  if (response.status !== 200 || response.body === null) throw new Error(`status ${response.status}`);
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of response.body) {
    size += chunk.length;
    // The exception cancels the download of the remaining body.
    if (size > MAX_BYTES) throw new Error('the key set is too large');
    chunks.push(chunk);
  }
  const set = JSON.parse(Buffer.concat(chunks).toString('utf8')) as JSONWebKeySet;
  const keys = createLocalJWKSet(set);
  if (set.keys.length === 0) throw new Error('the key set is empty');
  return keys;
}

export interface JwtOptions {
  /** URL with the issuer's keys. Alternatively, `publicKey` is a single public key as PEM (SPKI). */
  jwksUrl?: string | undefined;
  publicKey?: string | undefined;
  issuer: string;
  audience: string;
  /** Claim that contains the tenant ID. */
  tenantClaim: string;
  /** Claim that contains the caller's rights by path. By default, tokens contain none. */
  rightsClaim?: string | undefined;
  /** Claim that contains whether the caller may share. By default, no token may share. */
  shareClaim?: string | undefined;
  /** Accepted signature algorithms, asymmetric only. */
  algorithms: string[];
  clockSkewSeconds: number;
  autoCreate: boolean;
  /** Limits the callers that wait for the issuer's keys. */
  lookups: ConcurrencyLimiter;
}

/**
 * Authenticates by JSON Web Tokens from the operator's issuer. A claim in the token contains the tenant ID. Keys are
 * fetched from `jwksUrl` on demand and cached.
 *
 * @throws Error immediately if `publicKey` is not a public key
 */
export function jwtAuthenticator(options: JwtOptions): Authenticator {
  const { issuer, audience, algorithms, clockSkewSeconds, tenantClaim, rightsClaim, shareClaim, autoCreate } =
    options;
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
    let givenRights: unknown;
    let givenShare: unknown;
    let expiresAt: number;
    try {
      const { payload } = await jwtVerify(token, keyFor(credentials.ip), {
        issuer,
        audience,
        algorithms,
        clockTolerance: clockSkewSeconds,
        // A token without an expiry could never be revoked.
        requiredClaims: ['exp', tenantClaim],
      });
      claim = payload[tenantClaim];
      subject = payload.sub ?? null;
      givenRights = rightsClaim === undefined ? undefined : payload[rightsClaim];
      givenShare = shareClaim === undefined ? undefined : payload[shareClaim];
      const remainingMs = (Number(payload.exp) + clockSkewSeconds) * 1000 - Date.now();
      expiresAt = performance.now() + remainingMs;
    } catch (error) {
      if (error instanceof ServiceError) throw error;
      // With a single configured key, jose throws a TypeError for a token that does not match the key.
      const isOfToken = error instanceof errors.JOSEError || options.jwksUrl === undefined;
      throw new ServiceError(isOfToken ? 'unauthorized' : 'issuer_unavailable');
    }
    // RFC 7519, section 4.1.2: the subject is a string.
    if (subject !== null && typeof subject !== 'string') throw new ServiceError('unauthorized');
    if (typeof claim !== 'string' || !TENANT_ID.test(claim)) throw new ServiceError('unauthorized');
    const rights = rightsSchema.optional().safeParse(givenRights);
    // A claim that is misread could give access to files that the issuer hides.
    if (!rights.success) throw new ServiceError('unauthorized');
    const canShare = z.boolean().default(false).safeParse(givenShare);
    // Like a key, a token with rights by path cannot share, because a share has all paths.
    const isContradiction = canShare.data === true && rights.data !== undefined;
    if (!canShare.success || isContradiction) throw new ServiceError('unauthorized');
    return {
      tenant: claim,
      access: 'read_write',
      rights: rights.data,
      canShare: canShare.data,
      autoCreate,
      managesStores: false,
      actor: { type: 'jwt', subject },
      expiresAt,
    };
  }
}

/** Creates a lookup for signing keys, by the caller's address. */
function verificationKey({ jwksUrl, publicKey, lookups }: JwtOptions): (ip: string) => JWTVerifyGetKey {
  if (jwksUrl !== undefined) {
    const keys = new RemoteKeySet(new URL(jwksUrl), lookups);
    return (ip) => (header, token) => keys.find(header, token, ip);
  }
  const key = createPublicKey(publicKey ?? '');
  return () => async () => key;
}
