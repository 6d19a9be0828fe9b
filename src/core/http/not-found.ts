import fp from 'fastify-plugin';
import { ServiceError } from '../errors/errors.ts';

/**
 * Rejects unknown routes with 404, and undeclared methods on known routes with 405. Register this plugin before all
 * routes.
 */
export const notFound = fp(
  async (app) => {
    const routes = new Map<string, { pattern: RegExp; methods: Set<string> }>();
    app.addHook('onRoute', ({ url, method }) => {
      const route = routes.get(url) ?? { pattern: urlPattern(url), methods: new Set() };
      routes.set(url, route);
      for (const each of [method].flat()) route.methods.add(each);
    });
    // In `onRequest`, the rejection precedes reading the body and checking its type.
    app.addHook('onRequest', (request, reply, done) => {
      if (!request.is404) return done();
      const path = request.url.split('?', 1)[0] ?? '';
      const route = routes.get(path) ?? [...routes.values()].find(({ pattern }) => pattern.test(path));
      if (route === undefined) return done(new ServiceError('route_not_found'));
      const allowed = [...route.methods].sort().join(', ');
      reply.header('Allow', allowed);
      done(new ServiceError('method_not_allowed', allowed));
    });
    // Fastify runs hooks for unknown routes only if a handler is set.
    app.setNotFoundHandler(() => {
      throw new ServiceError('route_not_found');
    });
  },
  { name: 'not-found' },
);

/** Returns a pattern that matches a route's URL with any values for its parameters. */
function urlPattern(url: string): RegExp {
  const parts = url
    .split('/')
    .map((part) => (part.startsWith(':') ? '[^/]+' : part.replace(/[^A-Za-z0-9_-]/g, '\\$&')));
  return new RegExp(`^${parts.join('/')}$`);
}
