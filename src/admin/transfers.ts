import type { FastifyReply, FastifyRequest } from 'fastify';
import fp from 'fastify-plugin';
import { ServiceError } from '../errors.ts';
import { MIN_TRANSFER_BYTES } from '../plugins/transfer-limits.ts';
import { ConcurrencyLimiter } from '../util/concurrency-limiter.ts';
import { administratorOf } from './authentication.ts';

/** So that administration leaves database connections to the agents. */
const MAX_IN_FLIGHT = 8;
const MAX_IN_FLIGHT_OF_ONE = 6;
const MAX_WAITING = 200;

/**
 * Bounds the requests in flight, and closes the connection of a client that sends or takes less than `MIN_TRANSFER_BYTES` in
 * `transferTimeoutMs` while there is more. Time in which the service is at work does not count.
 */
export const transfers = fp<{ maxWaitMs: number; transferTimeoutMs: number }>(
  async (app, { maxWaitMs, transferTimeoutMs }) => {
    const inFlight = new ConcurrencyLimiter({
      total: MAX_IN_FLIGHT,
      perTenant: MAX_IN_FLIGHT_OF_ONE,
      maxWaiting: MAX_WAITING,
      maxWaitMs,
    });
    app.addHook('onRequest', (request, reply, done) => {
      if (reply.raw.destroyed) return done(new ServiceError('client_gone'));
      const { actor } = administratorOf(request);
      const slot = inFlight.slot(actor.type === 'api_key' ? actor.id : actor.type);
      reply.raw.once('close', () => slot.release());
      const timer = setInterval(stallCheck(request, reply), transferTimeoutMs);
      reply.raw.once('close', () => clearInterval(timer));
      const waiting = slot.acquire(1);
      if (waiting) waiting.then(() => done(), done);
      else done();
    });
  },
  { name: 'transfers', dependencies: ['admin-authentication'] },
);

/** Returns a function that is called now and then, and ends the request once the client has moved too little since the last call. */
function stallCheck({ raw: body }: FastifyRequest, reply: FastifyReply): () => void {
  const { raw } = reply;
  const { socket } = body;
  let before = { read: socket.bytesRead, written: socket.bytesWritten };
  return () => {
    const now = { read: socket.bytesRead, written: socket.bytesWritten };
    const isSending = !body.complete && body.readableLength === 0 && !body.isPaused();
    const isTaking = raw.writableLength > 0;
    const isStalled =
      (isSending && now.read - before.read < MIN_TRANSFER_BYTES) ||
      (isTaking && now.written - before.written < MIN_TRANSFER_BYTES);
    before = now;
    if (!isStalled) return;
    if (reply.sent) raw.destroy();
    else {
      // What is left of the body must not be taken for the next request.
      reply.header('Connection', 'close');
      // To whoever reads the body, who answers with this error.
      body.emit('error', new ServiceError('body_timeout'));
    }
  };
}
