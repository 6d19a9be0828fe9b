import type { FastifyRequest } from 'fastify';
import fp from 'fastify-plugin';
import type { Authenticator, Principal } from '../auth/principal.ts';
import type { TenantPolicy, TenantPolicyCache } from '../tenants/policy-cache.ts';
import { mapMaybePromise } from '../util/maybe-promise.ts';

/** The caller of a request and the policy of its tenant. */
export interface RequestContext {
  principal: Principal;
  policy: TenantPolicy;
}

declare module 'fastify' {
  interface FastifyRequest {
    /** Set for routes that need a credential. */
    context: RequestContext | undefined;
  }
}

/**
 * Identifies the caller of the routes that are registered after it, and looks up the policy of the tenant. It runs before the body is
 * read, so the body of an unauthenticated request is never read.
 */
export const authentication = fp<{ authenticator: Authenticator; policies: TenantPolicyCache }>(
  async (app, { authenticator, policies }) => {
    app.decorateRequest('context');
    app.addHook('onRequest', (request, _reply, done) => {
      const identified = mapMaybePromise(authenticator.authenticate(request), (principal) => {
        const { tenant, autoCreate } = principal;
        request.logEntry.tenant = tenant;
        return mapMaybePromise(policies.policyFor(tenant, { autoCreate, ip: request.ip }), (policy) => {
          request.context = { principal, policy };
        });
      });
      if (identified instanceof Promise) identified.then(() => done(), done);
      else done();
    });
  },
  { name: 'authentication', dependencies: ['access-log'] },
);

/** @throws Error for a route without authentication. */
export function contextOf({ context }: FastifyRequest): RequestContext {
  if (context === undefined) throw new Error('The route is not behind the authentication plugin.');
  return context;
}
