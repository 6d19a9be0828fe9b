import type { FastifyRequest } from 'fastify';
import fp from 'fastify-plugin';
import { ServiceError } from '../errors/errors.ts';
import { mapMaybePromise } from '../lib/maybe-promise.ts';
import { NEW_TENANT_ID } from '../tenants/ids.ts';
import { countedAs, type TenantPolicy, type TenantPolicyCache } from '../tenants/policy-cache.ts';
import type { Authenticator, Principal } from '../tenants/principal.ts';

/** The caller of a request and the policy of its tenant. */
export interface RequestContext {
  principal: Principal;
  policy: TenantPolicy;
}

/** What identifies callers, and looks up the policies of tenants. */
export interface Authentication {
  authenticator: Authenticator;
  policies: TenantPolicyCache;
}

type Identify = (request: FastifyRequest, by: Authentication) => RequestContext | Promise<RequestContext>;

declare module 'fastify' {
  interface FastifyContextConfig {
    /** How the route identifies the caller; by default `X-Tenant-Id` or the credential names the tenant. */
    identify?: Identify;
  }
  interface FastifyInstance {
    /** Identifies the caller of a request without the cache. */
    identifyAgain(request: FastifyRequest): Promise<void>;
  }
  interface FastifyRequest {
    /** Set for routes that need a credential. */
    context: RequestContext | undefined;
  }
}

/**
 * Identifies the caller of the routes that are registered after it, and looks up the policy of the tenant. It runs
 * before the body is read, so the body of an unauthenticated request is never read.
 */
export const authentication = fp<Authentication>(
  async (app, by) => {
    app.decorateRequest('context');
    app.decorate('identifyAgain', (request) => identifyAgain(request, by));
    app.addHook('onRequest', (request, _reply, done) => {
      const identified = mapMaybePromise(identify(request, by), (context) => {
        request.context = context;
      });
      if (identified instanceof Promise) identified.then(() => done(), done);
      else done();
    });
  },
  { name: 'authentication', dependencies: ['access-log'] },
);

/** The key of a caller is for the tenant that was created when the key was, not for a later one with the same id. */
function isForTenant({ principal: { tenantCreatedAt }, policy }: RequestContext): boolean {
  return tenantCreatedAt === undefined || tenantCreatedAt === policy.createdAt;
}

function identify(request: FastifyRequest, by: Authentication): RequestContext | Promise<RequestContext> {
  const { identify = identifyByHeader } = request.routeOptions.config;
  return mapMaybePromise(identify(request, by), (context) =>
    isForTenant(context) ? context : lookUpAgain(request, by, context.principal.tenant),
  );
}

/** @throws ServiceError when the credential is not for the tenant that has the id now */
async function lookUpAgain(
  request: FastifyRequest,
  by: Authentication,
  tenant: string,
): Promise<RequestContext> {
  by.authenticator.forget(tenant);
  by.policies.forget(tenant);
  const { identify = identifyByHeader } = request.routeOptions.config;
  const context = await identify(request, by);
  if (!isForTenant(context)) throw new ServiceError('unauthorized');
  return context;
}

/** Identifies the caller of a request without the cache, since its tenant was deleted or renamed meanwhile. */
async function identifyAgain(request: FastifyRequest, by: Authentication): Promise<void> {
  const { tenant, draftOf } = contextOf(request).principal;
  by.policies.forget(tenant);
  request.context = await lookUpAgain(request, by, draftOf ?? tenant);
}

const identifyByHeader: Identify = (request, { authenticator, policies }) =>
  mapMaybePromise(authenticator.authenticate(request), (principal) => {
    const { tenant } = principal;
    const autoCreate = principal.autoCreate && NEW_TENANT_ID.test(tenant);
    request.logEntry.tenant = tenant;
    const policy = policies.policyFor(tenant, { autoCreate, ip: request.ip });
    return mapMaybePromise(policy, (found) => ({ principal: { ...principal, autoCreate }, policy: found }));
  });

/** Returns the tenant whose share of the service a request uses. */
export function countedTenant({ principal, policy }: RequestContext): string {
  return countedAs(principal.tenant, policy);
}

/** @throws Error for a route without authentication. */
export function contextOf({ context }: FastifyRequest): RequestContext {
  if (context === undefined) throw new Error('The route is not behind the authentication plugin.');
  return context;
}
