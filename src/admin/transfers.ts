import type { IncomingMessage } from 'node:http';
import type { FastifyReply, FastifyRequest } from 'fastify';
import fp from 'fastify-plugin';
import { ServiceError } from '../errors.ts';
import { MIN_TRANSFER_BYTES } from '../http/transfer-limits.ts';
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
  /** How much the client has had time for since it was last given something: Node does not tell what part of it is taken. */
  let due = 0;
  let isRefused = false;
  return () => {
    const now = { read: socket.bytesRead, written: socket.bytesWritten };
    // Who reads a body listens for its errors. Until then, the service is at work.
    const isRead = body.listenerCount('error') > 0;
    const isSending = isRead && !isRefused && !body.complete && body.readableLength === 0;
    const isTaking = raw.writableLength > 0;
    due = isTaking && now.written === before.written ? due + MIN_TRANSFER_BYTES : 0;
    if (isTaking && due >= raw.writableLength) raw.destroy();
    else if (isSending && now.read - before.read < MIN_TRANSFER_BYTES) {
      isRefused = true;
      refuseBody(body, reply);
    }
    before = now;
  };
}

/** Ends the reading of a body with an error, which whoever reads it answers, and then the connection. */
function refuseBody(body: IncomingMessage, reply: FastifyReply): void {
  const { socket } = body;
  // What is left of the body must not be taken for the next request.
  if (!reply.raw.headersSent) reply.header('Connection', 'close');
  reply.raw.once('finish', () => socket.destroySoon());
  body.emit('error', new ServiceError('body_timeout'));
}
