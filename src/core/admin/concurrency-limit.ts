import type { FastifyRequest } from 'fastify';
import fp from 'fastify-plugin';
import { ServiceError } from '../errors/errors.ts';
import { acquireSlot } from '../http/open-routes.ts';
import type { Slot } from '../lib/concurrency-limiter.ts';
import { jsonBytes } from '../lib/json.ts';
import { RequestLimiter } from '../tenants/request-limiter.ts';
import { callerName } from './admin-authentication.ts';

/** Maximum number of requests that run at the same time. The limit reserves database connections for agents. */
const MAX_IN_FLIGHT = 8;
const MAX_IN_FLIGHT_OF_ONE = 6;
const MAX_WAITING = 200;
const MEBIBYTE = 1024 * 1024;
/** Maximum number of response bytes in memory. A larger response waits until no other is in memory. */
const MAX_RESPONSE_BYTES = 64 * MEBIBYTE;
const MAX_RESPONSE_BYTES_OF_ONE = 32 * MEBIBYTE;
/** A response up to this size is counted with its request. */
const SHORT_BYTES = 64 * 1024;

declare module 'fastify' {
  interface FastifyRequest {
    /** The right to execute the request, until the response ends. */
    slot: Slot | undefined;
    /** Bytes reserved for the response, from before it exists until the client has received it. */
    responseBytes: Slot | undefined;
  }
}

/**
 * Waits until memory for a response is available. Only reads wait, because a change is already done when its response
 * is created.
 *
 * @throws ServiceError 429 or 503 if no memory becomes available in time
 */
export async function reserveResponse(request: FastifyRequest, bytes: number): Promise<void> {
  const { method, responseBytes } = request;
  if (method === 'GET' && bytes > SHORT_BYTES) await responseBytes?.acquire(bytes);
}

export const concurrencyLimit = fp<{ maxWaitMs: number }>(
  async (app, { maxWaitMs }) => {
    const inFlight = new RequestLimiter({
      total: MAX_IN_FLIGHT,
      perKey: MAX_IN_FLIGHT_OF_ONE,
      maxWaiting: MAX_WAITING,
      maxWaitMs,
    });
    const bytes = new RequestLimiter({
      total: MAX_RESPONSE_BYTES,
      perKey: MAX_RESPONSE_BYTES_OF_ONE,
      maxWaiting: MAX_WAITING,
      maxWaitMs,
    });
    app.decorateRequest('slot');
    app.decorateRequest('responseBytes');
    app.addHook('onRequest', (request, reply, done) => {
      if (reply.raw.destroyed) return done(new ServiceError('client_gone'));
      const key = callerName(request);
      const slot = inFlight.slot(key);
      const responseBytes = bytes.slot(key);
      request.slot = slot;
      request.responseBytes = responseBytes;
      request.onClose.push(() => {
        slot.release();
        responseBytes.release();
      });
      acquireSlot(slot, request, reply, done);
    });
    // Memory must be reserved before the JSON is created, so the hook runs before serialization.
    app.addHook('preSerialization', async (request, _reply, payload) => {
      await reserveResponse(request, jsonBytes(payload));
      return payload;
    });
  },
  { name: 'admin-concurrency-limit', dependencies: ['admin-authentication', 'connections', 'slow-clients'] },
);
