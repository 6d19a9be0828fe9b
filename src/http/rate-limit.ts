import rateLimiter from '@fastify/rate-limit';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import fp from 'fastify-plugin';
import { ServiceError } from '../errors.ts';
import { contextOf } from './authentication.ts';
import { RateStore, WINDOW_MS } from './rate-store.ts';

/** Limits how many requests per minute a tenant may send to the routes that are registered after it. */
export const rateLimit = fp(
  async (app) => {
    await app.register(rateLimiter, {
      global: false,
      store: RateStore,
      timeWindow: WINDOW_MS,
      enableDraftSpec: true,
      keyGenerator: (request) => contextOf(request).principal.tenant,
      max: (request) => contextOf(request).policy.ratePerMinute,
      errorResponseBuilder: (_request, { max, ttl }) =>
        new ServiceError('rate_limited', max, Math.max(1, Math.ceil(ttl / 1000))),
    });
    const limit = app.rateLimit() as (
      this: FastifyInstance,
      request: FastifyRequest,
      reply: FastifyReply,
    ) => Promise<void>;
    app.addHook('onRequest', (request, reply, done) => {
      if (contextOf(request).policy.ratePerMinute === 0) done();
      else limit.call(app, request, reply).then(() => done(), done);
    });
  },
  { name: 'rate-limit', dependencies: ['authentication'] },
);
