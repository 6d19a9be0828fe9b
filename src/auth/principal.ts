import type { IncomingHttpHeaders } from 'node:http';
import { ServiceError } from '../errors.ts';
import type { Actor } from '../memory/origin.ts';

/** The caller of a request: which tenant's memory it may use, and how. */
export interface Principal {
  tenant: string;
  /** Whom the history names. */
  actor: Actor;
  access: 'read_write' | 'read_only';
  /** Whether the first write creates a tenant that does not exist yet. */
  autoCreate: boolean;
}

/** The parts of a request that an authenticator reads. */
export interface Credentials {
  headers: IncomingHttpHeaders;
  /** Address of the client. */
  ip: string;
}

/** A method of authentication. */
export interface Authenticator {
  /**
   * Returns without a promise when no lookup is needed, as for nearly every request.
   *
   * @throws ServiceError 401, 403 or 429, or 400 for a missing or malformed tenant id.
   */
  authenticate(credentials: Credentials): Principal | Promise<Principal>;
  /** Flushes background writes. */
  close(): Promise<void>;
}

export const TENANT_HEADER = 'X-Tenant-Id';
export const TENANT_ID = /^[A-Za-z0-9._:@-]{1,128}$/;
const TENANT_ID_RULE = 'it has to be 1 to 128 of the characters A-Z a-z 0-9 . _ : @ -';

/**
 * Returns the tenant that a request names, or undefined.
 *
 * @throws ServiceError 400 for an invalid tenant id
 */
export function namedTenant({ headers }: Credentials): string | undefined {
  const given = headers['x-tenant-id'];
  if (given === undefined) return undefined;
  if (typeof given === 'string' && TENANT_ID.test(given)) return given;
  throw new ServiceError(400, 'invalid_tenant', `${TENANT_HEADER} is not a tenant id: ${TENANT_ID_RULE}`);
}

/** Returns the token of `Authorization: Bearer`, or undefined. */
export function bearerToken({ headers }: Credentials): string | undefined {
  return /^Bearer +(\S+)$/i.exec(headers.authorization ?? '')?.[1];
}

/** The same response for every invalid credential: callers must not learn what was wrong with it. */
export function unauthorized(): ServiceError {
  return new ServiceError(
    401,
    'unauthorized',
    'The request needs a valid credential: send Authorization: Bearer with an API key or token of this service.',
  );
}

/** The credential is for one tenant, and the request names another. */
export function otherTenant(): ServiceError {
  return new ServiceError(
    403,
    'tenant_mismatch',
    `${TENANT_HEADER} names another tenant than the credential is for: leave the header out, or use that tenant's credential.`,
  );
}
