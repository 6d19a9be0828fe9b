import fp from 'fastify-plugin';
import { contextOf } from './authentication.ts';
import { type InFlight, InFlightRequest } from './capacity.ts';
import { countBody } from './request-body.ts';
import { MIN_TRANSFER_BYTES } from './transfer-limits.ts';

/**
 * Counts the requests to the routes that are registered after it, with the bytes of their bodies and answers. The routes take a slot
 * themselves, once the body is read (`InFlightRequest.takeSlot`).
 *
 * @param options.transferTimeoutMs the time a client has for each `MIN_TRANSFER_BYTES` that it sends or takes
 */
export const concurrencyLimit = fp<{ inFlight: InFlight; transferTimeoutMs: number }>(
  async (app, { inFlight, transferTimeoutMs }) => {
    app.decorateRequest('inFlight');
    app.addHook('onRequest', (request, reply, done) => {
      const { principal, policy } = contextOf(request);
      request.inFlight = new InFlightRequest(inFlight, principal.tenant, reply);
      const waiting = countBody(request, reply, {
        maxBytes: policy.maxBodyBytes,
        transferTimeoutMs,
      });
      if (waiting) waiting.then(() => done(), done);
      else done();
    });
    // Counts the answer until the client has taken it, and closes the connection of a client that takes too long.
    app.addHook('onSend', (request, { raw }, payload, done) => {
      const size = typeof payload === 'string' ? Buffer.byteLength(payload) : 0;
      request.inFlight?.answer(size);
      // Behind an earlier answer on the same connection there is no socket yet, and that one's limit holds.
      if (raw.socket) {
        const parts = Math.max(1, Math.ceil(size / MIN_TRANSFER_BYTES));
        request.inFlight?.limitTime(parts * transferTimeoutMs, () => raw.destroy());
      }
      done();
    });
  },
  { name: 'concurrency-limit', dependencies: ['authentication'] },
);
