import type { IncomingHttpHeaders } from 'node:http';
import { ServiceError } from '../errors/errors.ts';
import type { Actor } from '../memory/origin.ts';
import { TENANT_ID, TENANT_ID_RULE } from './ids.ts';

/** The caller of a request: which tenant's memory it may use, and how. */
export interface Principal {
  tenant: string;
  /** Whom the history names. */
  actor: Actor;
  access: 'read_write' | 'read_only';
  /** Of a key for one tenant: when that tenant was created. The key is not for a later tenant with its id. */
  tenantCreatedAt?: string | undefined;
  /** Whether the first write creates a tenant that does not exist yet. */
  autoCreate: boolean;
  /** Of a propose-only key, its id: it works in a draft of its own (src/agents/proposals.ts). */
  proposesAs?: string | undefined;
  /** Of one that is in its draft, which is the tenant then: what it is a draft of. */
  draftOf?: string;
}

/** The caller of a request, before it is known which tenant the request is for. */
export interface Caller
  extends Pick<Principal, 'actor' | 'access' | 'autoCreate' | 'proposesAs' | 'tenantCreatedAt'> {
  /** The only tenant that the caller may act for; null for all. */
  tenant: string | null;
  /** Whether the caller may create, change, archive and delete stores, and redact versions. */
  managesStores: boolean;
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
  /**
   * Identifies the caller by the credential alone: for routes that name a tenant in another way than the header.
   *
   * @throws ServiceError 401, 403 or 429.
   */
  identify(credentials: Credentials): Caller | Promise<Caller>;
  /** Looks the keys of a tenant up again. */
  forget(tenant: string): void;
  /** Flushes background writes. */
  close(): Promise<void>;
}

export const TENANT_HEADER = 'X-Tenant-Id';

/**
 * Returns the tenant that a request names, or undefined.
 *
 * @throws ServiceError 400 for an invalid tenant id
 */
export function namedTenant({ headers }: Credentials): string | undefined {
  const given = headers['x-tenant-id'];
  if (given === undefined) return undefined;
  if (typeof given === 'string' && TENANT_ID.test(given)) return given;
  throw invalidTenant();
}

/** Returns the token of `Authorization: Bearer`, or undefined. */
export function bearerToken({ headers }: Credentials): string | undefined {
  return /^Bearer +(\S+)$/i.exec(headers.authorization ?? '')?.[1];
}

/** `X-Tenant-Id` is malformed. */
export function invalidTenant(): ServiceError {
  return new ServiceError('invalid_tenant', TENANT_ID_RULE);
}
