import type { FastifyRequest } from 'fastify';
import fp from 'fastify-plugin';
import { ServiceError } from '../errors/errors.ts';
import { mapMaybePromise } from '../lib/maybe-promise.ts';
import { mountsWithin } from '../memory/rights.ts';
import { NEW_TENANT_ID } from '../tenants/ids.ts';
import { countedAs, type TenantPolicy, type TenantPolicyCache } from '../tenants/policy-cache.ts';
import { type Authenticator, type Principal, proposesPaths } from '../tenants/principal.ts';

/** A request's caller and the policy for the caller's tenant. */
export interface RequestContext {
  principal: Principal;
  policy: TenantPolicy;
}

/** Services that identify callers and look up tenants' policies. */
export interface Authentication {
  authenticator: Authenticator;
  policies: TenantPolicyCache;
}

type Identify = (request: FastifyRequest, by: Authentication) => RequestContext | Promise<RequestContext>;

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Identifies the route's caller. By default, the credential or `X-Tenant-Id` names the tenant. */
    identify?: Identify;
  }
  interface FastifyInstance {
    identifyAgain(request: FastifyRequest): Promise<void>;
    /** Identifies the caller like a new request, with cached keys and policies. */
    identifyAsNew(request: FastifyRequest): RequestContext | Promise<RequestContext>;
  }
  interface FastifyRequest {
    /** The identified caller. Set only on routes that require a credential. */
    context: RequestContext | undefined;
  }
}

/**
 * Identifies the callers on the routes registered after this plugin, and looks up their tenants' policies.
 * Authentication precedes reading the body, so an unauthenticated request's body is never read.
 */
export const authentication = fp<Authentication>(
  async (app, by) => {
    app.decorateRequest('context');
    app.decorate('identifyAgain', (request) => identifyAgain(request, by));
    app.decorate('identifyAsNew', (request) => identify(request, by));
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

/**
 * Whether the tenant is the one for which the key was created. A later tenant with the same ID does not accept the key.
 */
function isForTenant({ principal: { tenantCreatedAt }, policy }: RequestContext): boolean {
  return tenantCreatedAt === undefined || tenantCreatedAt === policy.createdAt;
}

/** Returns the context with the mounts that the caller's rights show. */
function withinRights(context: RequestContext): RequestContext {
  const { principal, policy } = context;
  if (principal.rights === undefined || policy.mounts.length === 0) return context;
  const mounts = mountsWithin(principal.rights, policy.mounts, proposesPaths(principal));
  return { principal, policy: { ...policy, mounts } };
}

function identify(request: FastifyRequest, by: Authentication): RequestContext | Promise<RequestContext> {
  const { identify = identifyByHeader } = request.routeOptions.config;
  return mapMaybePromise(identify(request, by), (context) =>
    isForTenant(context) ? withinRights(context) : lookUpAgain(request, by, context.principal.tenant),
  );
}

/**
 * Identifies the caller again, without cached keys and policies.
 *
 * @throws ServiceError if the credential belongs to an earlier tenant with the same ID
 */
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
  return withinRights(context);
}

/** Replaces a request's context when the tenant was deleted or renamed since the caller was identified. */
async function identifyAgain(request: FastifyRequest, by: Authentication): Promise<void> {
  const { tenant, draftOf } = requireContext(request).principal;
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

/** Returns the tenant whose share of the service's capacity a request uses. The original is counted for a draft. */
export function countedTenant({ principal, policy }: RequestContext): string {
  return countedAs(principal.tenant, policy);
}

/** @throws Error if the route has no authentication */
export function requireContext({ context }: FastifyRequest): RequestContext {
  if (context === undefined) throw new Error('The route is not behind the authentication plugin.');
  return context;
}
