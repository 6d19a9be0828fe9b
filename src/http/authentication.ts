import type { FastifyRequest } from 'fastify';
import fp from 'fastify-plugin';
import type { Authenticator, Principal } from '../auth/principal.ts';
import { countedAs, type TenantPolicy, type TenantPolicyCache } from '../tenants/policy-cache.ts';
import { isDraftId } from '../tenants/tenant-id.ts';
import { mapMaybePromise } from '../util/maybe-promise.ts';

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
  interface FastifyRequest {
    /** Set for routes that need a credential. */
    context: RequestContext | undefined;
  }
}

/**
 * Identifies the caller of the routes that are registered after it, and looks up the policy of the tenant. It runs before the body is
 * read, so the body of an unauthenticated request is never read.
 */
export const authentication = fp<Authentication>(
  async (app, by) => {
    app.decorateRequest('context');
    app.addHook('onRequest', (request, _reply, done) => {
      const { identify = identifyByHeader } = request.routeOptions.config;
      const identified = mapMaybePromise(identify(request, by), (context) => {
        request.context = context;
      });
      if (identified instanceof Promise) identified.then(() => done(), done);
      else done();
    });
  },
  { name: 'authentication', dependencies: ['access-log'] },
);

const identifyByHeader: Identify = (request, { authenticator, policies }) =>
  mapMaybePromise(authenticator.authenticate(request), (principal) => {
    const { tenant } = principal;
    const autoCreate = principal.autoCreate && !isDraftId(tenant);
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
