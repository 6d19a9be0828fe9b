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
      if (declared === undefined) return done(routeNotFound());
      const allowed = [...declared].sort().join(', ');
      reply.header('Allow', allowed);
      done(methodNotAllowed(allowed));
    });
    // Without this, hooks do not run for unknown routes.
    app.setNotFoundHandler(() => {
      throw routeNotFound();
    });
  },
  { name: 'not-found' },
);

function routeNotFound(): ServiceError {
  return new ServiceError(
    404,
    'route_not_found',
    'There is no such route. Memory commands go to POST /execute; GET /docs describes it.',
  );
}

function methodNotAllowed(allowed: string): ServiceError {
  return new ServiceError(405, 'method_not_allowed', `This route has only: ${allowed}.`);
}
