import type { IncomingMessage } from 'node:http';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { ServiceError } from '../errors.ts';
import { type InFlightRequest, inFlightOf } from './capacity.ts';
import { MIN_TRANSFER_BYTES, REQUEST_BYTES } from './transfer-limits.ts';

interface BodyLimits {
  /** 0: only the limit of the service holds. */
  maxBytes: number;
  /** Timeout for each `MIN_TRANSFER_BYTES`, not counting waits for capacity. */
  transferTimeoutMs: number;
}

/**
 * Counts the bytes of a body as they arrive, and pauses it while the service has no capacity for more. Rejects a body that is too large
 * with 413, and one that arrives too slowly with 408. Call it last before the body is read, because the parser collects the same chunks.
 *
 * @returns a promise when the request has to wait for capacity
 * @throws ServiceError 413 when `Content-Length` exceeds the limit
 */
export function countBody(
  request: FastifyRequest,
  reply: FastifyReply,
  limits: BodyLimits,
): Promise<void> | undefined {
  const inFlight = inFlightOf(request);
  const { maxBytes, transferTimeoutMs } = limits;
  const declared = Number(request.headers['content-length']);
  if (isOver(declared, maxBytes)) throw new ServiceError('body_too_large', maxBytes, 'tenant');
  const refuse = (error: unknown) => {
    if (reply.sent) return;
    // The rest of the body must not be parsed as the next request.
    reply.header('Connection', 'close');
    // Makes the parser fail with this error.
    request.raw.emit('error', error);
  };
  const start = () => {
    // A small body is counted with its request and has one timeout.
    if (declared <= REQUEST_BYTES) {
      inFlight.limitTime(transferTimeoutMs, () => refuse(new ServiceError('body_timeout')));
    } else watch(request.raw, reply, inFlight, limits, refuse);
  };
  const waiting = inFlight.bytes.acquire(REQUEST_BYTES);
  if (waiting) return waiting.then(start);
  start();
  return undefined;
}

function watch(
  body: IncomingMessage,
  reply: FastifyReply,
  inFlight: InFlightRequest,
  { maxBytes, transferTimeoutMs }: BodyLimits,
  refuse: (error: unknown) => void,
): void {
  let received = 0;
  let counted = REQUEST_BYTES;
  let hasEnded = false;

  const end = (error: unknown) => {
    hasEnded = true;
    refuse(error);
  };
  const limitTime = () => {
    const receivedBefore = received;
    inFlight.limitTime(transferTimeoutMs, () => {
      if (received - receivedBefore < MIN_TRANSFER_BYTES) end(new ServiceError('body_timeout'));
      else limitTime();
    });
  };
  body.on('data', (chunk: Buffer) => {
    received += chunk.length;
    // After the response, the rest is discarded.
    if (hasEnded || reply.sent) return;
    // A chunked body does not declare its length.
    if (isOver(received, maxBytes)) return end(new ServiceError('body_too_large', maxBytes, 'tenant'));
    if (received <= counted) return;
    let waiting: Promise<void> | undefined;
    try {
      waiting = inFlight.bytes.acquire(received - counted);
    } catch (error) {
      return end(error);
    }
    counted = received;
    if (waiting === undefined) return;
    body.pause();
    inFlight.endTimeLimit();
    waiting.then(() => {
      limitTime();
      body.resume();
    }, end);
  });
  limitTime();
}

function isOver(bytes: number, maxBytes: number): boolean {
  return maxBytes > 0 && bytes > maxBytes;
}
