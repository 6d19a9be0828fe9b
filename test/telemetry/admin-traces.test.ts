import { expect, it } from 'vitest';
import { showTree } from '../support/otlp-collector.ts';
import { post, readAdminUrl } from '../support/process.ts';
import { cmd } from '../support/step-table.ts';
import { CALLER, SERVER, TRACE, traceparent, useTracedServers } from '../support/traced.ts';

const { startTraced } = useTracedServers();

it('traces requests to the admin API by route, without paths, queries, and contents', {
  tags: 'long',
}, async () => {
  const server = await startTraced({ ADMIN_PORT: '0' });
  const url = await readAdminUrl(server);
  await post(server.url, cmd.create('/memories/private-path', 'private-content'), { 'x-tenant-id': 'acme' });
  const headers = { ...traceparent(), 'x-request-id': 'traced-1' };
  const answer = await fetch(`${url}/v1/tenants/acme/file?path=/memories/private-path`, { headers });
  expect(await answer.text()).toBe('private-content');
  for (const path of ['/healthz', '/readyz', '/', '/openapi.json']) await fetch(url + path, { headers });
  const { log, spans: all } = await server.stop();

  const spans = all.filter(({ traceId }) => traceId === TRACE);
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
  expect(JSON.stringify(server.collector.received)).not.toContain('private');
  const line = log.split('\n').find((each) => each.includes('"reqId":"traced-1"'));
  expect(JSON.parse(line ?? '')).toMatchObject({ trace_id: TRACE, command: 'readFile' });
});
