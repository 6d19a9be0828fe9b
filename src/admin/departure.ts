import type { FastifyReply } from 'fastify';
import { ServiceError } from '../errors.ts';

/** Aborts, with the error to throw, when the client closes its connection: what is done for it from then on is in vain. */
export function departureOf({ raw }: FastifyReply): AbortSignal {
  const departure = new AbortController();
  const abort = () => departure.abort(new ServiceError('client_gone'));
  if (raw.destroyed) abort();
  else raw.once('close', abort);
  return departure.signal;
}
