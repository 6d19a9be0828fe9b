import type { FastifyRequest } from 'fastify';
import type { Authentication, RequestContext } from '../../http/authentication.ts';
import { mapMaybePromise } from '../../lib/maybe-promise.ts';
import { TENANT_ID } from '../../tenants/ids.ts';
import type { Caller, Credentials } from '../../tenants/principal.ts';
import { notFound, StoreError } from './errors.ts';

/**
 * What a route of this API does. `manage` is what creates or changes stores, or erases history: deleting a store
 * takes its history along, and redacting a version is for good.
 */
export type Access = 'read' | 'write' | 'manage';

declare module 'fastify' {
  interface FastifyContextConfig {
    storeAccess?: Access;
    /** Whether the route is also for a store that is suspended, as one is whose deletion was interrupted. */
    isForSuspended?: boolean;
  }
}

/**
 * In the place of a tenant, for requests to no store in particular: limits count them together. No tenant has this
 * id.
 */
export const ALL_STORES = '*';

/**
 * Identifies the caller of a route of this API, where the URL names the store. The policy of the store's tenant
 * holds; that of a request to no store is the default.
 *
 * @throws ServiceError or StoreError when the caller may not do this; 404 when it may not even know of the store.
 */
export function identifyForStore(
  request: FastifyRequest,
  { authenticator, policies }: Authentication,
): RequestContext | Promise<RequestContext> {
  const { config, schema } = request.routeOptions;
  request.logEntry.command = schema?.operationId ?? '';
  return mapMaybePromise(authenticator.identify(credentialsOf(request)), (caller) => {
    const tenant = storeOf(request, caller);
    if (tenant !== ALL_STORES) request.logEntry.tenant = tenant;
    checkAccess(config.storeAccess ?? 'manage', caller);
    const { actor, access, proposesAs, tenantCreatedAt } = caller;
    const limited = config.isForSuspended ? ALL_STORES : tenant;
    const policy = policies.policyFor(limited, { autoCreate: limited === ALL_STORES, ip: request.ip });
    return mapMaybePromise(policy, (found) => ({
      principal: { tenant, tenantCreatedAt, actor, access, autoCreate: false, proposesAs },
      policy: limited === tenant ? found : { ...found, createdAt: null },
    }));
  });
}

/** The SDKs send an API key as `x-api-key`, and an auth token as a bearer token. */
function credentialsOf({ headers, ip }: FastifyRequest): Credentials {
  const key = headers['x-api-key'];
  if (headers.authorization !== undefined || typeof key !== 'string') return { headers, ip };
  return { headers: { ...headers, authorization: `Bearer ${key}` }, ip };
}

function storeOf(request: FastifyRequest, { tenant }: Caller): string {
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
