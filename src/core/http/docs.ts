import { hash } from 'node:crypto';
import swaggerUi from '@fastify/swagger-ui';
import type { FastifyInstance } from 'fastify';

/**
 * The policy omits `upgrade-insecure-requests`, because over plain HTTP it makes a browser load the page's scripts from
 * https://.
 */
const CONTENT_SECURITY_POLICY = {
  'default-src': "'none'",
  'script-src': "'self'",
  'style-src': "'self'",
  'img-src': ["'self'", 'data:'],
  'connect-src': "'self'",
  'base-uri': "'none'",
  'form-action': "'none'",
  'frame-ancestors': "'none'",
};

const ICON =
  '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 16 16"><rect width="16" height="16" rx="3" fill="#333"/><path d="M4 5h8M4 8h8M4 11h5" stroke="#fff" stroke-width="1.5"/></svg>';

/** Serves the OpenAPI document at `/openapi.json`, and Swagger UI, which loads no external resources, at `/docs`. */
export async function docsRoutes(app: FastifyInstance, { title }: { title: string }): Promise<void> {
  let prepared: { body: Buffer; etag: string } | undefined;
  app.get('/openapi.json', { schema: { hide: true } }, async (request, reply) => {
    prepared ??= prepare(app.swagger());
    reply.header('ETag', prepared.etag);
    if (request.headers['if-none-match'] === prepared.etag) return reply.code(304).send();
    return reply.type('application/json; charset=utf-8').send(prepared.body);
  });
  await app.register(swaggerUi, {
    routePrefix: '/docs',
    staticCSP: CONTENT_SECURITY_POLICY,
    theme: {
      title,
      favicon: [{ filename: 'icon.svg', rel: 'icon', type: 'image/svg+xml', sizes: 'any', content: ICON }],
    },
    // `BaseLayout` omits the top bar with the logo and the field for other documents.
    uiConfig: { layout: 'BaseLayout', tryItOutEnabled: true, displayRequestDuration: true },
  });
}

/** Serializes the document. The result is cached because serialization takes milliseconds. */
function prepare(document: object): { body: Buffer; etag: string } {
  const body = Buffer.from(JSON.stringify(document));
  return { body, etag: `"${hash('sha256', body, 'base64url')}"` };
}
