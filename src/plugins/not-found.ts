import fp from 'fastify-plugin';
import { ServiceError } from '../errors.ts';

/** Refuses unknown routes with 404, and undeclared methods of known ones with 405. Register it before all routes. */
export const notFound = fp(
  async (app) => {
    const methods = new Map<string, Set<string>>();
    app.addHook('onRoute', ({ url, method }) => {
      const declared = methods.get(url) ?? new Set();
      methods.set(url, declared);
      for (const each of [method].flat()) declared.add(each);
    });
    // Before the body is read, and whatever its type.
    app.addHook('onRequest', (request, reply, done) => {
      if (!request.is404) return done();
      const declared = methods.get(request.url.split('?', 1)[0] ?? '');
      if (declared === undefined) return done(new ServiceError('route_not_found'));
      const allowed = [...declared].sort().join(', ');
      reply.header('Allow', allowed);
      done(new ServiceError('method_not_allowed', allowed));
    });
    // Without this, hooks do not run for unknown routes.
    app.setNotFoundHandler(() => {
      throw new ServiceError('route_not_found');
    });
  },
  { name: 'not-found' },
);
