import type { FastifyRequest } from 'fastify';
import fp from 'fastify-plugin';
import { ServiceError } from '../errors/errors.ts';
import { disconnectSignal } from '../http/access-log.ts';
import type { Slot } from '../lib/concurrency-limiter.ts';
import { jsonBytes } from '../lib/json.ts';
import { RequestLimiter } from '../tenants/request-limiter.ts';
import { administratorOf } from './authentication.ts';

/** So that administration leaves database connections to the agents. */
const MAX_IN_FLIGHT = 8;
const MAX_IN_FLIGHT_OF_ONE = 6;
const MAX_WAITING = 200;
const MEBIBYTE = 1024 * 1024;
/** Bytes of responses in memory. A single larger response has to be alone. */
const MAX_RESPONSE_BYTES = 64 * MEBIBYTE;
const MAX_RESPONSE_BYTES_OF_ONE = 32 * MEBIBYTE;
/** A shorter response counts as a part of its request. */
const SHORT_BYTES = 64 * 1024;

declare module 'fastify' {
  interface FastifyRequest {
    /** Bytes of the response, from before it is made until the client has it. */
    responseBytes: Slot | undefined;
  }
}

/**
 * Waits for room for a response before it is made. Only reads wait: a change is done, whether or not there is room
 * for its result.
 *
 * @throws ServiceError 429 or 503 when there is no room in time
 */
export async function reserveResponse(request: FastifyRequest, bytes: number): Promise<void> {
  const { method, responseBytes } = request;
  if (method === 'GET' && bytes > SHORT_BYTES) await responseBytes?.acquire(bytes);
}

/** Bounds the requests in flight, with their bodies and responses. */
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
    app.decorateRequest('responseBytes');
    app.addHook('onRequest', (request, reply, done) => {
      if (reply.raw.destroyed) return done(new ServiceError('client_gone'));
      const { actor } = administratorOf(request);
      const key = 'id' in actor ? actor.id : actor.type;
      const slot = inFlight.slot(key);
      const responseBytes = bytes.slot(key);
      request.responseBytes = responseBytes;
      reply.raw.once('close', () => {
        slot.release();
        responseBytes.release();
      });
      const waiting = slot.acquire(1);
      if (waiting === undefined) return done();
      // A client that has left makes room in the queue.
      const disconnected = disconnectSignal(request, reply);
      const leave = () => slot.release();
      if (disconnected.aborted) leave();
      else disconnected.addEventListener('abort', leave);
      waiting.finally(() => disconnected.removeEventListener('abort', leave)).then(() => done(), done);
    });
    // Before the JSON is made.
    app.addHook('preSerialization', async (request, _reply, payload) => {
      await reserveResponse(request, jsonBytes(payload));
      return payload;
    });
  },
  { name: 'admin-concurrency-limit', dependencies: ['admin-authentication', 'connections', 'slow-clients'] },
);
