import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import fastifyStatic from '@fastify/static';
import type { FastifyInstance } from 'fastify';
import fp from 'fastify-plugin';
import { version } from '../lib/version.ts';

/** For the page: its own files and requests to its own server, nothing inline and nothing from elsewhere. */
export const PAGE_POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self'",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
  // No text becomes markup but through DOMPurify.
  "require-trusted-types-for 'script'",
  'trusted-types dompurify',
].join('; ');

/** For everything else, memory contents above all: nothing may run or load, even where a browser shows it. */
const DATA_POLICY =
  "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; sandbox";

/** Headers of every response of the listener. What serves a page replaces the policy with its own. */
export const securityHeaders = fp(
  async (app) => {
    app.addHook('onRequest', (_request, reply, done) => {
      reply.headers({
        'Content-Security-Policy': DATA_POLICY,
        'Cross-Origin-Opener-Policy': 'same-origin',
        'Cross-Origin-Resource-Policy': 'same-origin',
        // Paths of files are in the URLs.
        'Referrer-Policy': 'no-referrer',
      });
      done();
    });
  },
  { name: 'security-headers' },
);

/** The same from `src` and from `dist`. */
const CONSOLE = fileURLToPath(new URL('../../console/dist', import.meta.url));
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
