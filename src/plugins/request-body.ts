import type { IncomingMessage } from 'node:http';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { ServiceError } from '../errors.ts';
import { type InFlightRequest, inFlightOf } from './in-flight.ts';
import { MIN_TRANSFER_BYTES, REQUEST_BYTES } from './transfer-limits.ts';

interface BodyLimits {
  /** 0: no limit but the service's own. */
  maxBytes: number;
  /** The time for each `MIN_TRANSFER_BYTES`; waiting for room does not count. */
  transferTimeoutMs: number;
}

/**
 * Counts a body's bytes as they arrive, and stops reading while there is no room for more. A body that is too large is refused with 413,
 * one that arrives too slowly with 408. To be called last before the body is read: the parser collects the same chunks.
 *
 * @returns a promise when the request has to wait for room
 * @throws ServiceError 413 for a body that says that it is too large
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
    // What is left of the body must not be taken for the next request.
    reply.header('Connection', 'close');
    // To the parser, which answers with this error.
    request.raw.emit('error', error);
  };
  const start = () => {
    // A small body is counted with its request, and has to arrive within one time limit.
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
    // Once the request is answered or refused, the rest is thrown away.
    if (hasEnded || reply.sent) return;
    // A chunked body does not say its length.
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
