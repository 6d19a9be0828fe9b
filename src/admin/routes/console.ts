import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import fastifyStatic from '@fastify/static';
import type { FastifyInstance } from 'fastify';
import { version } from '../../version.ts';
import { PAGE_POLICY } from '../security-headers.ts';

/** The same from `src` and from `dist`. */
const CONSOLE = fileURLToPath(new URL('../../../console/dist', import.meta.url));
/** Their names hold a hash of their contents. */
const ASSETS = /^\/assets\//;

/** `GET /`: the console as it was built, or where there is none, what this is and where to go on. */
export async function consoleRoutes(
  app: FastifyInstance,
  { folder = CONSOLE }: { folder?: string },
): Promise<void> {
  if (!existsSync(folder)) {
    app.get('/', { schema: { hide: true } }, async () => ({
      name: 'Memory service administration',
      version,
      links: { api: '/v1', docs: '/docs', openapi: '/openapi.json' },
    }));
    return;
  }
  app.addHook('onRequest', (request, reply, done) => {
    reply.headers({
      'Content-Security-Policy': PAGE_POLICY,
      'Cache-Control': ASSETS.test(request.url) ? 'public, max-age=31536000, immutable' : 'no-cache',
    });
    done();
  });
  await app.register(fastifyStatic, {
    root: folder,
    // A route for each file that there is, so that other paths are unknown routes.
    wildcard: false,
    cacheControl: false,
  });
}
