import fp from 'fastify-plugin';
import { contextOf } from './authentication.ts';
import { type Capacity, InFlightRequest } from './capacity.ts';
import { countBody } from './request-body.ts';

/**
 * Counts the requests to the routes that are registered after it, with the bytes of their bodies and answers. The routes take a slot
 * themselves, once the body is read (`InFlightRequest.takeSlot`).
 */
export const concurrencyLimit = fp<{ capacity: Capacity }>(
  async (app, { capacity }) => {
    app.decorateRequest('inFlight');
    app.addHook('onRequest', (request, reply, done) => {
      const { principal, policy } = contextOf(request);
      request.inFlight = new InFlightRequest(capacity, principal.tenant, reply);
      const waiting = countBody(request, reply, policy.maxBodyBytes);
      if (waiting) waiting.then(() => done(), done);
      else done();
    });
    app.addHook('onSend', (request, _reply, payload, done) => {
      request.inFlight?.answer(typeof payload === 'string' ? Buffer.byteLength(payload) : 0);
      done();
    });
  },
  { name: 'concurrency-limit', dependencies: ['authentication', 'slow-clients'] },
);
