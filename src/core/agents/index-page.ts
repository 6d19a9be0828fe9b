import type { FastifyInstance } from 'fastify';
import { prefers } from '../http/accept.ts';
import { version } from '../lib/service-version.ts';

const NAME = 'Memory service';
const LINKS = { docs: '/docs', openapi: '/openapi.json', liveness: '/healthz', readiness: '/readyz' };

/** The links are relative (`.`), so that they work behind a proxy with a path prefix. */
const PAGE = `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<title>${NAME}</title>
<h1>${NAME} ${version}</h1>
<p>The backend for Claude's memory tool.</p>
<ul>
<li><a href=".${LINKS.docs}">API documentation</a></li>
<li><a href=".${LINKS.openapi}">OpenAPI document</a></li>
<li><a href=".${LINKS.liveness}">Liveness</a> and <a href=".${LINKS.readiness}">readiness</a></li>
</ul>
</html>
`;

/** Serves `GET /` with the service's name and links, as JSON or as a page for browsers. */
export async function indexRoute(app: FastifyInstance): Promise<void> {
  app.get('/', { schema: { hide: true } }, async (request, reply) => {
    reply.header('Vary', 'Accept');
    if (!prefers(request.headers.accept, 'text/html', 'application/json'))
      return { name: NAME, version, links: LINKS };
    return reply
      .header(
        'Content-Security-Policy',
        "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
      )
      .type('text/html; charset=utf-8')
      .send(PAGE);
  });
}
