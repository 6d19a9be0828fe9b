import { hash } from 'node:crypto';
import swaggerUi from '@fastify/swagger-ui';
import type { FastifyInstance } from 'fastify';

/** Serves the document at `/openapi.json`, and Swagger UI, which needs nothing from elsewhere, at `/docs`. */
export async function docsRoutes(app: FastifyInstance): Promise<void> {
  let prepared: { body: Buffer; etag: string } | undefined;
  app.get('/openapi.json', { schema: { hide: true } }, async (request, reply) => {
    prepared ??= prepare(app.swagger());
    reply.header('ETag', prepared.etag);
    if (request.headers['if-none-match'] === prepared.etag) return reply.code(304).send();
    return reply.type('application/json; charset=utf-8').send(prepared.body);
  });
  await app.register(swaggerUi, {
    routePrefix: '/docs',
    staticCSP: true,
    uiConfig: { tryItOutEnabled: true, displayRequestDuration: true },
  });
}

/** The document as it is sent, which takes milliseconds to write. */
function prepare(document: object): { body: Buffer; etag: string } {
  const body = Buffer.from(JSON.stringify(document));
  return { body, etag: `"${hash('sha256', body, 'base64url')}"` };
}
