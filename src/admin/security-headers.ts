import fp from 'fastify-plugin';

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
