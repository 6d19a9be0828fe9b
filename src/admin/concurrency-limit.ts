import fp from 'fastify-plugin';
import { ServiceError } from '../errors.ts';
import { RequestLimiter } from '../request-limiter.ts';
import { administratorOf } from './authentication.ts';

/** So that administration leaves database connections to the agents. */
const MAX_IN_FLIGHT = 8;
const MAX_IN_FLIGHT_OF_ONE = 6;
const MAX_WAITING = 200;

/** Bounds the requests in flight, with their bodies and responses. */
export const concurrencyLimit = fp<{ maxWaitMs: number }>(
  async (app, { maxWaitMs }) => {
    const inFlight = new RequestLimiter({
      total: MAX_IN_FLIGHT,
      perKey: MAX_IN_FLIGHT_OF_ONE,
      maxWaiting: MAX_WAITING,
      maxWaitMs,
    });
    app.addHook('onRequest', (request, reply, done) => {
      if (reply.raw.destroyed) return done(new ServiceError('client_gone'));
      const { actor } = administratorOf(request);
      const slot = inFlight.slot('id' in actor ? actor.id : actor.type);
      reply.raw.once('close', () => slot.release());
      const waiting = slot.acquire(1);
      if (waiting) waiting.then(() => done(), done);
      else done();
    });
  },
  { name: 'admin-concurrency-limit', dependencies: ['admin-authentication', 'connections', 'slow-clients'] },
);
