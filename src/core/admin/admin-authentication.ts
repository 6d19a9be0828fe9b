import type { FastifyRequest } from 'fastify';
import fp from 'fastify-plugin';
import { mapMaybePromise } from '../lib/maybe-promise.ts';
import type { Actor, Origin } from '../memory/origin.ts';
import type { AdminAuthenticator, Administrator } from '../tenants/authenticator.ts';
import { authorize } from './permissions.ts';

declare module 'fastify' {
  interface FastifyRequest {
    /** The authenticated admin or operator. Set only on admin API routes. */
    administrator: Administrator | undefined;
  }
}

/**
 * Identifies the admin for requests to the routes registered after this plugin, before the body is read. Rejects
 * requests that the key does not allow (permissions.ts).
 */
export const adminAuthentication = fp<{ authenticator: AdminAuthenticator }>(
  async (app, { authenticator }) => {
    app.decorateRequest('administrator');
    app.addHook('onRequest', (request, _reply, done) => {
      const identified = mapMaybePromise(authenticator.authenticate(request), (administrator) => {
        request.administrator = administrator;
        request.logEntry.actor = actorName(administrator.actor);
        authorize(administrator, request);
      });
      if (identified instanceof Promise) identified.then(() => done(), done);
      else done();
    });
  },
  { name: 'admin-authentication', dependencies: ['access-log'] },
);

/** Returns an actor's ID or type for the log. A label is free text, so it is never logged. */
function actorName(actor: Actor): string {
  return 'id' in actor ? actor.id : actor.type;
}

/** Returns the caller's ID or type. The request uses this caller's share of limited resources. */
export function callerName(request: FastifyRequest): string {
  return actorName(requireAdministrator(request).actor);
}

/** @throws Error if the route has no authentication */
export function requireAdministrator({ administrator }: FastifyRequest): Administrator {
  if (administrator === undefined)
    throw new Error('The route is not behind the admin-authentication plugin.');
  return administrator;
}

/** Returns the tenants that a request's admin may see. Null means all tenants. */
export function tenantScope(request: FastifyRequest): string[] | null {
  return requireAdministrator(request).onlyTenants;
}

/** Returns the metadata for versions that the request creates. */
export function requestOrigin(request: FastifyRequest): Origin {
  return { actor: requireAdministrator(request).actor, requestId: request.id };
}
