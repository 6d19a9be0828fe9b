import type { FastifyReply, FastifyRequest } from 'fastify';
import { ServiceError } from '../errors.ts';

/**
 * Returns a signal that aborts, with the error to throw, once the client has left: what is done for it from then on is in vain. A client
 * that closes its sending half counts as well, as nothing else is seen of one that has closed its socket until it is sent something.
 */
export function departureOf({ raw: { socket } }: FastifyRequest, { raw }: FastifyReply): AbortSignal {
  const departure = new AbortController();
  const abort = () => departure.abort(new ServiceError('client_gone'));
  if (raw.destroyed || socket.readableEnded) abort();
  // A response that is closed emits no `close` to remove the listener on the connection, which may carry more requests.
  if (raw.closed) return departure.signal;
  socket.once('end', abort);
  raw.once('close', () => {
    socket.off('end', abort);
    abort();
  });
  return departure.signal;
}
