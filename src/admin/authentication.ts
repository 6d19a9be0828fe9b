import type { FastifyRequest } from 'fastify';
import fp from 'fastify-plugin';
import type { AdminAuthenticator, Administrator } from '../auth/admin-authenticator.ts';
import { ServiceError } from '../errors.ts';
import type { Actor, Origin } from '../memory/origin.ts';
import { mapMaybePromise } from '../util/maybe-promise.ts';

declare module 'fastify' {
  interface FastifyRequest {
    /** Set for routes of the admin API. */
    administrator: Administrator | undefined;
  }
}

const READING = new Set(['GET', 'HEAD']);

/**
 * Identifies the administrator of the routes that are registered after it, before the body is read. With a read-only key, only what
 * reads is let through.
 */
export const adminAuthentication = fp<{ authenticator: AdminAuthenticator }>(
  async (app, { authenticator }) => {
    app.decorateRequest('administrator');
    app.addHook('onRequest', (request, _reply, done) => {
      const identified = mapMaybePromise(authenticator.authenticate(request), (administrator) => {
        request.administrator = administrator;
        request.logEntry.actor = nameOf(administrator.actor);
        if (administrator.access === 'read_only' && !READING.has(request.method)) {
          throw new ServiceError('read_only_key');
        }
      });
      if (identified instanceof Promise) identified.then(() => done(), done);
      else done();
    });
  },
  { name: 'admin-authentication', dependencies: ['access-log'] },
);

/** What the log calls an administrator: never a label, which is free text. */
function nameOf(actor: Actor): string {
  return actor.type === 'api_key' ? actor.id : actor.type;
}

/** @throws Error for a route without authentication. */
export function administratorOf({ administrator }: FastifyRequest): Administrator {
  if (administrator === undefined)
    throw new Error('The route is not behind the admin-authentication plugin.');
  return administrator;
}

/** What the history says of a change by this request. */
export function originOf(request: FastifyRequest): Origin {
  return { actor: administratorOf(request).actor, requestId: request.id };
}
