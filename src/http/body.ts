import type { FastifyReply, preParsingHookHandler, RequestPayload } from 'fastify';
import type { Slot } from '../concurrency-limiter.ts';
import { ServiceError } from '../errors.ts';
import { inFlightOf } from './in-flight.ts';
import { MIN_TRANSFER_BYTES, REQUEST_BYTES } from './transfer.ts';

/**
 * Counts a body's bytes as they arrive, and stops reading while there is no room for more. A body that arrives too slowly is
 * refused with 408. Runs before the parser, which collects the same chunks.
 *
 * @param transferTimeoutMs the time for each `MIN_TRANSFER_BYTES`; waiting for room does not count
 */
export function countBody(transferTimeoutMs: number): preParsingHookHandler {
  return (request, reply, payload, done) => {
    const { bytes } = inFlightOf(request);
    const start = () => {
      watch(payload, reply, bytes, transferTimeoutMs);
      done(null, payload);
    };
    const waiting = bytes.acquire(REQUEST_BYTES);
    if (waiting) waiting.then(start, done);
    else start();
  };
}

function watch(body: RequestPayload, reply: FastifyReply, bytes: Slot, transferTimeoutMs: number): void {
  let received = 0;
  let counted = REQUEST_BYTES;
  let receivedAtCheck = 0;
  let timer: NodeJS.Timeout | undefined;

  const refuse = (error: unknown) => {
    if (reply.sent) return;
    // What is left of the body must not be taken for the next request.
    reply.header('Connection', 'close');
    // To the parser, which answers with this error.
    body.emit('error', error);
  };
  const check = () => {
    if (received - receivedAtCheck < MIN_TRANSFER_BYTES) return refuse(bodyTimeout());
    startTimer();
  };
  const startTimer = () => {
    receivedAtCheck = received;
    timer = setTimeout(check, transferTimeoutMs);
  };
  const stopTimer = () => clearTimeout(timer);

  body.on('data', (chunk: Buffer) => {
    received += chunk.length;
    // After a refusal the rest is thrown away.
    if (received <= counted || reply.sent) return;
    const waiting = bytes.acquire(received - counted);
    counted = received;
    if (waiting === undefined) return;
    body.pause();
    stopTimer();
    waiting.then(() => {
      startTimer();
      body.resume();
    }, refuse);
  });
  body.once('end', stopTimer);
  reply.raw.once('close', stopTimer);
  startTimer();
}

function bodyTimeout(): ServiceError {
  return new ServiceError(
    408,
    'body_timeout',
    'The body arrives too slowly. Send it again over a faster connection.',
  );
}
