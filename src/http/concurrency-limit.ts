import type { FastifyReply, FastifyRequest } from 'fastify';
import fp from 'fastify-plugin';
import { ServiceError } from '../errors.ts';
import { contextOf, countedTenant } from './authentication.ts';
import { type Capacity, InFlightRequest, inFlightOf, REQUEST_BYTES } from './capacity.ts';
import { bytesInMemory } from './slow-clients.ts';

/**
 * Counts the requests to the routes that are registered after it, with the bytes of their bodies and responses. The routes take a slot
 * themselves, once the body is read (`InFlightRequest.takeSlot`).
 */
export const concurrencyLimit = fp<{ capacity: Capacity }>(
  async (app, { capacity }) => {
    app.decorateRequest('inFlight');
    app.addHook('onRequest', (request, reply, done) => {
      const context = contextOf(request);
      request.inFlight = new InFlightRequest(capacity, countedTenant(context), reply);
      const waiting = countBody(request, reply, context.policy.maxBodyBytes);
      if (waiting) waiting.then(() => done(), done);
      else done();
    });
    app.addHook('onSend', (request, _reply, payload, done) => {
      request.inFlight?.countResponse(bytesInMemory(payload));
      done();
    });
  },
  { name: 'concurrency-limit', dependencies: ['authentication', 'slow-clients'] },
);

/**
 * Counts the bytes of a body as they arrive, and pauses it while the service has no capacity for more. Rejects a body that is too large
 * with 413. Call it last before the body is read, because the parser collects the same chunks.
 *
 * @param maxBytes 0: only the limit of the service holds
 * @returns a promise when the request has to wait for capacity
 * @throws ServiceError 413 when `Content-Length` exceeds the limit
 */
function countBody(
  request: FastifyRequest,
  reply: FastifyReply,
  maxBytes: number,
): Promise<void> | undefined {
  const declared = Number(request.headers['content-length']);
  if (isOver(declared, maxBytes)) throw new ServiceError('body_too_large', maxBytes, 'tenant');
  const waiting = inFlightOf(request).bytes.acquire(REQUEST_BYTES);
  // A small body is counted with its request.
  if (declared <= REQUEST_BYTES) return waiting;
  if (waiting) return waiting.then(() => countChunks(request, reply, maxBytes));
  countChunks(request, reply, maxBytes);
  return undefined;
}

function countChunks(request: FastifyRequest, reply: FastifyReply, maxBytes: number): void {
  const { raw: body, transfer } = request;
  const { bytes } = inFlightOf(request);
  let received = 0;
  let counted = REQUEST_BYTES;
  let hasEnded = false;

  const refuse = (error: unknown) => {
    hasEnded = true;
    // Makes the parser fail with this error.
    if (!reply.sent) body.emit('error', error);
  };
  body.on('data', (chunk: Buffer) => {
    received += chunk.length;
    // After the response, the rest is discarded.
    if (hasEnded || reply.sent) return;
    // A chunked body does not declare its length.
    if (isOver(received, maxBytes)) return refuse(new ServiceError('body_too_large', maxBytes, 'tenant'));
    if (received <= counted) return;
    let waiting: Promise<void> | undefined;
    try {
      waiting = bytes.acquire(received - counted);
    } catch (error) {
      return refuse(error);
    }
    counted = received;
    if (waiting === undefined) return;
    transfer?.pause();
    waiting.then(() => transfer?.resume(), refuse);
  });
}

function isOver(bytes: number, maxBytes: number): boolean {
  return maxBytes > 0 && bytes > maxBytes;
}
