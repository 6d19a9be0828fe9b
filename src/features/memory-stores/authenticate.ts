import type { FastifyRequest } from 'fastify';
import type { Authentication, RequestContext } from '../../core/http/authentication.ts';
import { mapMaybePromise } from '../../core/lib/maybe-promise.ts';
import { TENANT_ID } from '../../core/tenants/ids.ts';
import type { Caller, Credentials } from '../../core/tenants/principal.ts';
import { notFound, StoreError } from './store-errors.ts';

/**
 * The access that a route needs. `manage` covers creating and changing stores, and permanent history loss: deleting a
 * store and redacting a version.
 */
export type Access = 'read' | 'write' | 'manage';

declare module 'fastify' {
  interface FastifyContextConfig {
    storeAccess?: Access;
    /** Whether the route accepts a suspended store, such as a store whose deletion was interrupted. */
    isForSuspended?: boolean;
  }
}

/** The pseudo-tenant for requests without a store, which share one set of limits. No tenant can have this ID. */
export const ALL_STORES = '*';

/**
 * Identifies the caller on a route whose URL may name a store. The policy belongs to the store's tenant, or is the
 * default policy without a store.
 *
 * @throws ServiceError or StoreError if the caller lacks access; 404 if the caller must not learn whether the store
 *   exists
 */
export function identifyForStore(
  request: FastifyRequest,
  { authenticator, policies }: Authentication,
): RequestContext | Promise<RequestContext> {
  const { config, schema } = request.routeOptions;
  request.logEntry.command = schema?.operationId ?? '';
  return mapMaybePromise(authenticator.identify(requestCredentials(request)), (caller) => {
    const tenant = requestedStore(request, caller);
    if (tenant !== ALL_STORES) request.logEntry.tenant = tenant;
    checkAccess(config.storeAccess ?? 'manage', caller);
    const { actor, access, rights, proposesAs, tenantCreatedAt } = caller;
    const limited = config.isForSuspended ? ALL_STORES : tenant;
    const policy = policies.policyFor(limited, { autoCreate: limited === ALL_STORES, ip: request.ip });
    return mapMaybePromise(policy, (found) => ({
      principal: { tenant, tenantCreatedAt, actor, access, rights, autoCreate: false, proposesAs },
      policy: limited === tenant ? found : { ...found, createdAt: null },
    }));
  });
}

/**
 * Returns a request's credentials. The SDKs send an API key as `x-api-key` and an auth token as a bearer token.
 */
function requestCredentials({ headers, ip }: FastifyRequest): Credentials {
  const key = headers['x-api-key'];
  if (headers.authorization !== undefined || typeof key !== 'string') return { headers, ip };
  return { headers: { ...headers, authorization: `Bearer ${key}` }, ip };
}

function requestedStore(request: FastifyRequest, { tenant }: Caller): string {
  const { memory_store_id: named } = request.params as { memory_store_id?: string };
  if (named === undefined) return tenant ?? ALL_STORES;
  if (!TENANT_ID.test(named) || (tenant !== null && named !== tenant)) throw notFound('memory store');
  return named;
}

function checkAccess(access: Access, { access: allowed, managesStores }: Caller): void {
  if (access === 'manage' && !managesStores) {
    throw new StoreError(
      403,
      'permission_error',
      'This requires a key that manages stores: memory-service keys create --service --manage-stores',
    );
  }
  if (access !== 'read' && allowed === 'read_only') {
    throw new StoreError(403, 'permission_error', 'The credential is read-only.');
  }
}
