import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import fp from 'fastify-plugin';
import { ServiceError } from '../errors/errors.ts';
import type { Slot } from '../lib/concurrency-limiter.ts';
import { RequestLimiter } from '../tenants/request-limiter.ts';
import { disconnectSignal } from './access-log.ts';

/** Routes for callers without a credential, by a request's cost. */
export const OPEN_ROUTES = {
  /** Responses from memory or from the service's files. A browser loads six of them at the same time. */
  local: { total: 64, perKey: 16 },
  /** Requests that wait for another server, each with a connection to it. */
  forwarding: { total: 16, perKey: 4 },
};
const MAX_WAITING = 100;

interface OpenRoutes {
  limits: { total: number; perKey: number };
  maxWaitMs: number;
  routes: (app: FastifyInstance) => Promise<void>;
}

/**
 * Registers routes that require no credential. The number of their requests in flight is limited, in total and for each
 * address. The health checks are not among them, because they must respond during a flood.
 */
export const openRoutes = fp<OpenRoutes>(async (app, { limits, maxWaitMs, routes }) => {
  const limiter = new RequestLimiter({ ...limits, maxWaiting: MAX_WAITING, maxWaitMs });
  await app.register(async (scope) => {
    scope.addHook('onRequest', (request, reply, done) => {
      if (reply.raw.destroyed) return done(new ServiceError('client_gone'));
      const slot = limiter.slot(request.ip);
      request.onClose.push(() => slot.release());
      acquireSlot(slot, request, reply, done);
    });
    await routes(scope);
  });
});

/**
 * Acquires a slot for a request in a hook. The request leaves the queue when its client disconnects.
 *
 * @param done receives the error if no slot is available in time
 */
export function acquireSlot(
  slot: Slot,
  request: FastifyRequest,
  reply: FastifyReply,
  done: (error?: Error) => void,
): void {
  let waiting: Promise<void> | undefined;
  try {
    waiting = slot.acquire(1);
  } catch (error) {
    done(error as Error);
    return;
  }
  if (waiting === undefined) {
    done();
    return;
  }
  const disconnected = disconnectSignal(request, reply);
  const leave = () => slot.release();
  if (disconnected.aborted) leave();
  else disconnected.addEventListener('abort', leave);
  waiting.finally(() => disconnected.removeEventListener('abort', leave)).then(() => done(), done);
}
