/**
 * The audit trail as OTLP logs, and the operation spans that the audit trail and the Memory Stores API share.
 *
 * @module-tag long
 */
import { expect, it } from 'vitest';
import { showTree } from '../support/otlp-collector.ts';
import { post, readAdminUrl } from '../support/process.ts';
import { cmd } from '../support/step-table.ts';
import { CALLER, TRACE, traceparent, useTracedServers } from '../support/traced.ts';

const servers = useTracedServers();

async function start(env: Record<string, string> = {}) {
  const server = await servers.startTraced({ ADMIN_PORT: '0', ...env });
  const admin = await readAdminUrl(server);
  const send = (method: string, url: string, body?: object, headers: Record<string, string> = {}) =>
    fetch(url, {
      method,
      headers: { 'content-type': 'application/json', ...headers },
      body: body === undefined ? null : JSON.stringify(body),
    });
  return { ...server, admin, send };
}

it('exports audit events as log records with outcome and trace ID, without contents and paths', async () => {
  const { url, admin, send, stop, collector } = await start();
  await post(url, cmd.create('/memories/private-path', 'private-content'), { 'x-tenant-id': 'acme' });
  const traced = { ...traceparent(), 'x-request-id': 'audited-1' };
  expect(
    (await send('PATCH', `${admin}/v1/tenants/acme`, { settings: { max_files: 7 } }, traced)).status,
  ).toBe(200);
  expect((await send('DELETE', `${admin}/v1/tenants/missing`)).status).toBe(404);
  expect((await send('POST', `${url}/v1/memory_stores`, { name: 'Notes' })).status).toBe(200);
  await send('GET', `${admin}/v1/tenants/acme`);
  await stop();

  const logs = collector.logs();
  expect(
    logs.map(({ eventName, severityText, body }) => [eventName, severityText, body.stringValue]),
  ).toStrictEqual([
    ['memory_service.audit', 'INFO', 'updateTenant: ok'],
    ['memory_service.audit', 'WARN', 'deleteTenant: not_found'],
    ['memory_service.audit', 'INFO', 'createMemoryStore: ok'],
  ]);
  expect(logs[0]?.traceId).toBe(TRACE);
  expect(logs[0]?.attributes).toStrictEqual({
    'memory_service.audit.id': expect.stringMatching(/^[0-9a-f-]{36}$/),
    'memory_service.audit.action': 'updateTenant',
    'memory_service.audit.outcome': 'ok',
    'memory_service.audit.channel': 'admin_api',
    'memory_service.audit.dry_run': false,
    'memory_service.audit.actor.type': 'anonymous',
    'memory_service.audit.details': '{"max_files":{"old":null,"new":7}}',
    'client.address': '127.0.0.1',
    'http.response.header.x-request-id': ['audited-1'],
    'gen_ai.memory.store.id': 'acme',
  });
  expect(JSON.stringify(collector.received)).not.toContain('private');
});

it('names the store and the memory in the spans for Memory Stores API operations', async () => {
  const { url, send, stop, collector } = await start();
  const traced = traceparent();
  const store = (await (await send('POST', `${url}/v1/memory_stores`, { name: 'Notes' }, traced)).json()) as {
    id: string;
  };
  const memories = `${url}/v1/memory_stores/${store.id}/memories`;
  const created = { path: '/private-path', content: 'private-content' };
  const memory = (await (await send('POST', memories, created, traced)).json()) as { id: string };
  await send('GET', memories, undefined, traced);
  expect((await send('POST', `${memories}/${memory.id}`, { path: '/a/../b' }, traced)).status).toBe(400);
  expect((await send('GET', `${memories}/private-id`, undefined, traced)).status).toBe(404);
  const view = { ...traced, 'x-tenant-id': store.id };
  await post(url, cmd.view('/memories/private-path'), view);
  await post(url, cmd.rename('/memories/private-path', '/memories/private-moved'), view);
  await post(url, cmd.delete('/memories/private-moved'), view);
  await post(url, cmd.view('/memories'), view);
  const { spans } = await stop();

  const operations = spans.filter(({ name }) => /_memory(_store)?$/.test(name));
  const subject = (record: boolean, count?: number) => ({
    'gen_ai.memory.store.id': store.id,
    ...(record ? { 'gen_ai.memory.record.id': memory.id } : {}),
    ...(count === undefined ? {} : { 'gen_ai.memory.record.count': count }),
  });
  const shown = operations.map(({ name, attributes }) => {
    const { 'gen_ai.operation.name': operation, ...others } = attributes;
    expect(operation).toBe(name);
    return [name, others];
  });
  expect(shown).toStrictEqual([
    ['create_memory_store', subject(false)],
    ['create_memory', subject(true, 1)],
    ['search_memory', subject(false, 1)],
    ['search_memory', { ...subject(false), 'error.type': 'not_found_error' }],
    ['search_memory', subject(true, 1)],
    ['update_memory', subject(true, 1)],
    ['delete_memory', subject(true, 1)],
    ['search_memory', subject(false)],
  ]);
  const trace = spans.filter(({ traceId }) => traceId === TRACE);
  expect(
    showTree(trace, CALLER)
      .slice(0, 5)
      .map((line) => line.trim()),
  ).toContain('create_memory_store');
  expect(JSON.stringify(collector.received)).not.toContain('private');
});

it.each([
  ['OTEL_LOGS_EXPORTER', '/v1/traces'],
  ['OTEL_TRACES_EXPORTER', '/v1/logs'],
])('exports only the other signal if %s is none', async (variable, path) => {
  const { admin, send, stop, collector } = await start({ [variable]: 'none' });
  expect((await send('POST', `${admin}/v1/tenants`, { id: `t${path.length}` })).status).toBeLessThan(300);
  await stop();
  expect([...new Set(collector.received.map((each) => each.path))]).toStrictEqual([path]);
});

it.each(['rejects logs', 'hangs'])(
  'completes changes and shuts down without delay while a collector %s',
  async (how) => {
    const { admin, send, stop, collector } = await start({ OTEL_TRACES_EXPORTER: 'none' });
    collector.answer = how === 'hangs' ? 'hang' : 400;
    for (let i = 0; i < 5; i++) {
      expect(
        (await send('PATCH', `${admin}/v1/tenants/acme`, { settings: { max_files: i + 1 } })).status,
      ).toBe(200);
    }
    const { log } = await stop();
    expect(log).toContain('"msg":"stopped"');
    const events = (await (await fetchEvents()).json()) as { events: { outcome: string }[] };
    expect(events.events.slice(0, 5).map(({ outcome }) => outcome)).toStrictEqual(Array(5).fill('ok'));
  },
);

/** Reads the audit trail with a service without a collector. */
async function fetchEvents(): Promise<Response> {
  const server = await servers.start({ ADMIN_PORT: '0' });
  return fetch(`${await readAdminUrl(server)}/v1/audit?action=updateTenant`);
}
