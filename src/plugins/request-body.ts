import type { IncomingMessage } from 'node:http';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { ServiceError } from '../errors.ts';
import { type InFlightRequest, inFlightOf } from './in-flight.ts';
import { MIN_TRANSFER_BYTES, REQUEST_BYTES } from './transfer-limits.ts';

/**
 * Counts a body's bytes as they arrive, and stops reading while there is no room for more. A body that arrives too slowly is
 * refused with 408. To be called last before the body is read: the parser collects the same chunks.
 *
 * @param transferTimeoutMs the time for each `MIN_TRANSFER_BYTES`; waiting for room does not count
 * @returns a promise when the request has to wait for room
 */
export function countBody(
  request: FastifyRequest,
  reply: FastifyReply,
  transferTimeoutMs: number,
): Promise<void> | undefined {
  const inFlight = inFlightOf(request);
  const declared = Number(request.headers['content-length']);
  const refuse = (error: unknown) => {
    if (reply.sent) return;
    // What is left of the body must not be taken for the next request.
    reply.header('Connection', 'close');
    // To the parser, which answers with this error.
    request.raw.emit('error', error);
  };
  const start = () => {
    // A small body is counted with its request, and has to arrive within one time limit.
    if (declared <= REQUEST_BYTES) inFlight.limitTime(transferTimeoutMs, () => refuse(bodyTimeout()));
    else watch(request.raw, reply, inFlight, transferTimeoutMs, refuse);
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
  transferTimeoutMs: number,
  refuse: (error: unknown) => void,
): void {
  let received = 0;
  let counted = REQUEST_BYTES;
  let isOver = false;

  const end = (error: unknown) => {
    isOver = true;
    refuse(error);
  };
  const limitTime = () => {
    const receivedBefore = received;
    inFlight.limitTime(transferTimeoutMs, () => {
      if (received - receivedBefore < MIN_TRANSFER_BYTES) end(bodyTimeout());
      else limitTime();
    });
  };
  body.on('data', (chunk: Buffer) => {
    received += chunk.length;
    // Once the request is answered or refused, the rest is thrown away.
    if (received <= counted || isOver || reply.sent) return;
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

function bodyTimeout(): ServiceError {
  return new ServiceError(
    408,
    'body_timeout',
    'The body arrives too slowly. Send it again over a faster connection.',
  );
}
