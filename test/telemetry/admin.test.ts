import { expect, it } from 'vitest';
import { createTestDatabase } from '../support/database.ts';
import { showTree, startCollector } from '../support/otlp.ts';
import { adminUrlOf, post, startServer } from '../support/process.ts';
import { cmd } from '../support/table.ts';

const TRACE = '0af7651916cd43dd8448eb211c80319c';
const CALLER = 'b7ad6b7169203331';
const SERVER = 2;

it('traces requests to the admin API by route, without paths, queries, and contents', {
  tags: 'long',
}, async () => {
  const database = await createTestDatabase();
  const collector = await startCollector();
  const server = await startServer({
    DATABASE_URL: database.url,
    ADMIN_PORT: '0',
    OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
    OTEL_EXPORTER_OTLP_PROTOCOL: 'http/json',
  });
  const url = await adminUrlOf(server);
  await post(server.url, cmd.create('/memories/private-path', 'private-content'), { 'x-tenant-id': 'acme' });
  const headers = { traceparent: `00-${TRACE}-${CALLER}-01`, 'x-request-id': 'traced-1' };
  const answer = await fetch(`${url}/v1/tenants/acme/file?path=/memories/private-path`, { headers });
  expect(await answer.text()).toBe('private-content');
  for (const path of ['/healthz', '/readyz', '/', '/openapi.json']) await fetch(url + path, { headers });
  server.child.kill('SIGTERM');
  expect(await server.exit).toBe(0);

  const spans = collector.spans().filter(({ traceId }) => traceId === TRACE);
  expect(showTree(spans, CALLER)).toStrictEqual(['GET /v1/tenants/:tenant/file', '  lookup_files']);
  expect(spans.filter(({ kind }) => kind === SERVER)).toMatchObject([
    {
      attributes: {
        'http.request.method': 'GET',
        'http.route': '/v1/tenants/:tenant/file',
        'url.path': '/v1/tenants/:tenant/file',
        'http.response.status_code': 200,
        'http.response.header.x-request-id': ['traced-1'],
        'gen_ai.memory.store.id': 'acme',
      },
    },
  ]);
  expect(JSON.stringify(collector.received)).not.toContain('private');
  const line = server
    .output()
    .split('\n')
    .find((each) => each.includes('"reqId":"traced-1"'));
  expect(JSON.parse(line ?? '')).toMatchObject({ trace_id: TRACE, command: 'readFile' });
  await collector.close();
  await database.drop();
});
