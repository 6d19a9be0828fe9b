import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import fastifyStatic from '@fastify/static';
import type { FastifyInstance } from 'fastify';
import fp from 'fastify-plugin';
import { version } from '../lib/service-version.ts';

/**
 * The console's policy allows its own files and requests to its own server, without inline scripts or external
 * resources.
 */
export const PAGE_POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self'",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
  // Only DOMPurify may convert text to markup.
  "require-trusted-types-for 'script'",
  'trusted-types dompurify',
].join('; ');

/**
 * The policy for all other responses, especially memory contents. A browser may display such a response, but must not
 * run scripts or load resources from it.
 */
const DATA_POLICY =
  "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; sandbox";

/** Adds headers to every response from the listener. Routes that serve a page replace the policy. */
export const securityHeaders = fp(
  async (app) => {
    app.addHook('onRequest', (_request, reply, done) => {
      reply.headers({
        'Content-Security-Policy': DATA_POLICY,
        'Cross-Origin-Opener-Policy': 'same-origin',
        'Cross-Origin-Resource-Policy': 'same-origin',
        // The URLs contain file paths.
        'Referrer-Policy': 'no-referrer',
      });
      done();
    });
  },
  { name: 'security-headers' },
);

/** Directory with the built console. The relative path is correct from both `src` and `dist`. */
const CONSOLE = fileURLToPath(new URL('../../../console/dist', import.meta.url));
/** Files whose name contains a hash of their content, so that browsers may cache them forever. */
const ASSETS = /^\/assets\//;

/**
 * Serves the built console at `GET /`. Without a build, the route returns the service's name and links. The sign-in
 * page reads `GET /sign-in/methods`.
 */
export async function consoleRoutes(
  app: FastifyInstance,
  { directory = CONSOLE, hasOpenId = false }: { directory?: string; hasOpenId?: boolean },
): Promise<void> {
  app.get('/sign-in/methods', { schema: { hide: true } }, async () => ({ openid: hasOpenId }));
  if (!existsSync(directory)) {
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
      Vary: 'Accept-Encoding',
      'Cache-Control': ASSETS.test(request.url) ? 'public, max-age=31536000, immutable' : 'no-cache',
    });
    done();
  });
  await app.register(fastifyStatic, {
    root: directory,
    // The plugin declares a route for each existing file, so that other paths are unknown routes.
    wildcard: false,
    // The build writes a compressed copy beside each script and style sheet.
    preCompressed: true,
    cacheControl: false,
  });
}
