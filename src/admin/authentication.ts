import type { FastifyRequest } from 'fastify';
import fp from 'fastify-plugin';
import { mapMaybePromise } from '../lib/maybe-promise.ts';
import type { Actor, Origin } from '../memory/origin.ts';
import type { AdminAuthenticator, Administrator } from '../tenants/authenticator.ts';
import { authorize } from './permissions.ts';

declare module 'fastify' {
  interface FastifyRequest {
    /** Set for routes of the admin API. */
    administrator: Administrator | undefined;
  }
}

/**
 * Identifies the administrator of the routes that are registered after it, before the body is read, and refuses what
 * the key does not allow (permissions.ts).
 */
export const adminAuthentication = fp<{ authenticator: AdminAuthenticator }>(
  async (app, { authenticator }) => {
    app.decorateRequest('administrator');
    app.addHook('onRequest', (request, _reply, done) => {
      const identified = mapMaybePromise(authenticator.authenticate(request), (administrator) => {
        request.administrator = administrator;
        request.logEntry.actor = nameOf(administrator.actor);
        authorize(administrator, request);
      });
      if (identified instanceof Promise) identified.then(() => done(), done);
      else done();
    });
  },
  { name: 'admin-authentication', dependencies: ['access-log'] },
);

/** What the log calls an administrator: never a label, which is free text. */
function nameOf(actor: Actor): string {
  return 'id' in actor ? actor.id : actor.type;
}

/** @throws Error for a route without authentication. */
export function administratorOf({ administrator }: FastifyRequest): Administrator {
  if (administrator === undefined)
    throw new Error('The route is not behind the admin-authentication plugin.');
  return administrator;
}

/** The only tenants that the administrator of a request may see; null: all. */
export function scopeOf(request: FastifyRequest): string[] | null {
  return administratorOf(request).onlyTenants;
}

/** What the history says of a change by this request. */
export function originOf(request: FastifyRequest): Origin {
  return { actor: administratorOf(request).actor, requestId: request.id };
}
