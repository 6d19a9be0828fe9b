import type { IncomingHttpHeaders } from 'node:http';
import { ServiceError } from '../errors.ts';

/** Who a request is from: whose memory it may see, and what it may do there. */
export interface Principal {
  tenant: string;
  access: 'read_write' | 'read_only';
  /** Whether a tenant that there is not (yet) is made by its first write. */
  autoCreate: boolean;
}

/** What an authenticator looks at. */
export interface Credentials {
  headers: IncomingHttpHeaders;
  /** The address the request came from. */
  ip: string;
}

/** One way of authentication. */
export interface Authenticator {
  /**
   * Answers without a promise what needs no look-up: that is nearly every request, and a promise costs more than the rest of it.
   *
   * @throws ServiceError 401, 403 or 429, or 400 for a missing or malformed tenant id.
   */
  authenticate(credentials: Credentials): Principal | Promise<Principal>;
  /** Writes what is still to be written in the background. */
  close(): Promise<void>;
}

export const TENANT_HEADER = 'X-Tenant-Id';
export const TENANT_ID = /^[A-Za-z0-9._:@-]{1,128}$/;
const TENANT_ID_RULE = 'it has to be 1 to 128 of the characters A-Z a-z 0-9 . _ : @ -';

/**
 * The tenant that a request names, or undefined.
 *
 * @throws ServiceError 400 when what it names is no tenant id.
 */
export function namedTenant({ headers }: Credentials): string | undefined {
  const given = headers['x-tenant-id'];
  if (given === undefined) return undefined;
  if (typeof given === 'string' && TENANT_ID.test(given)) return given;
  throw new ServiceError(400, 'invalid_tenant', `${TENANT_HEADER} is not a tenant id: ${TENANT_ID_RULE}`);
}

/** The token of `Authorization: Bearer`, or undefined. */
export function bearerToken({ headers }: Credentials): string | undefined {
  return /^Bearer +(\S+)$/i.exec(headers.authorization ?? '')?.[1];
}

/** One answer for whatever is wrong with a credential: which it was is not the caller's to know. */
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
