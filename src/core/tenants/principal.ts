import type { IncomingHttpHeaders } from 'node:http';
import { ServiceError } from '../errors/errors.ts';
import type { Mount } from '../memory/mount.ts';
import type { Actor } from '../memory/origin.ts';
import { canChangeAny, type Rights } from '../memory/rights.ts';
import { TENANT_ID, TENANT_ID_RULE } from './ids.ts';

/** The time in which an identified caller remains valid. Times refer to `performance.now()`. */
export interface Validity {
  /** Time of the lookup. By default, the time of the identification. */
  readAt?: number;
  /** The credential's own expiry. By default, the credential does not expire. */
  expiresAt?: number;
}

/** The authenticated caller of a request, with its tenant and access. */
export interface Principal extends Validity {
  tenant: string;
  /** Actor recorded in the history. */
  actor: Actor;
  access: 'read_write' | 'read_only';
  /** Rights by path, as the caller sees the paths; undefined if the access applies to all files. */
  rights?: Rights | undefined;
  /** Creation time of a tenant key's tenant. The key is invalid for a later tenant with the same ID. */
  tenantCreatedAt?: string | undefined;
  /** Whether the first write creates a missing tenant. */
  autoCreate: boolean;
  /** ID of a propose-only key, which works in a separate draft (src/features/drafts/proposals.ts). */
  proposesAs?: string | undefined;
  /** Whether the caller may share the tenant's memory with other tenants, and accept their invitations. */
  canShare?: boolean | undefined;
  /** Original tenant, if `tenant` is a propose-only key's draft. */
  draftOf?: string;
  /** Open draft that has the paths with the right `propose`, as a mount at the root, for a caller that also writes. */
  proposal?: Mount | undefined;
}

type OwnRights = Pick<Principal, 'access' | 'rights' | 'proposesAs'>;

/** Whether a caller proposes changes to some paths, and writes other paths directly. */
export function proposesPaths({ access, rights, proposesAs }: OwnRights): boolean {
  const isWriter = access === 'read_write' && proposesAs === undefined;
  return isWriter && (rights?.some((right) => right.access === 'propose') ?? false);
}

/** Returns a caller's rights without a draft: it only reads the paths to which it proposes changes. */
export function directRights(principal: OwnRights): Rights | undefined {
  if (!proposesPaths(principal)) return principal.rights;
  return principal.rights?.map((right) =>
    right.access === 'propose' ? { ...right, access: 'read_only' as const } : right,
  );
}

/**
 * Whether a caller can change nothing. A propose-only key without a draft counts as a writer, because its first write
 * creates the draft.
 */
export function isReader({ access, rights, proposesAs }: OwnRights): boolean {
  if (rights !== undefined && !canChangeAny(rights)) return true;
  return access === 'read_only' && proposesAs === undefined;
}

/** A request's caller, before the tenant is known. */
export interface Caller
  extends Validity,
    Pick<
      Principal,
      'actor' | 'access' | 'rights' | 'autoCreate' | 'proposesAs' | 'tenantCreatedAt' | 'canShare'
    > {
  /** The caller's only tenant; null means all tenants. */
  tenant: string | null;
  /** Whether the caller may create, change, archive, and delete stores, and redact versions. */
  managesStores: boolean;
}

/** The request parts that an authenticator reads. */
export interface Credentials {
  headers: IncomingHttpHeaders;
  ip: string;
  /** Identifies the connection. */
  socket?: object;
}

export interface Authenticator {
  /**
   * Authenticates a request. Returns synchronously if no lookup is needed, which is the case for nearly every request.
   *
   * @throws ServiceError 401, 403, or 429, or 400 for a missing or malformed tenant ID
   */
  authenticate(credentials: Credentials): Principal | Promise<Principal>;
  /**
   * Identifies the caller by the credential alone, for routes that do not name the tenant in the header.
   *
   * @throws ServiceError 401, 403, or 429
   */
  identify(credentials: Credentials): Caller | Promise<Caller>;
  /** Removes a tenant's keys from the cache. */
  forget(tenant: string): void;
  /** Flushes background writes. */
  close(): Promise<void>;
}

export const TENANT_HEADER = 'X-Tenant-Id';

/**
 * Returns the tenant named in a request header, or undefined.
 *
 * @throws ServiceError 400 for an invalid tenant ID
 */
export function namedTenant({ headers }: Credentials): string | undefined {
  const given = headers['x-tenant-id'];
  if (given === undefined) return undefined;
  if (typeof given === 'string' && TENANT_ID.test(given)) return given;
  throw invalidTenant();
}

/** Returns the token from `Authorization: Bearer`, or undefined. */
export function bearerToken({ headers }: Credentials): string | undefined {
  return /^Bearer +(\S+)$/i.exec(headers.authorization ?? '')?.[1];
}

/** Creates the error for a malformed `X-Tenant-Id`. */
export function invalidTenant(): ServiceError {
  return new ServiceError('invalid_tenant', TENANT_ID_RULE);
}
