/** The client with the real service. */
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { MemoryClient, MemoryContext, type MemoryServiceError } from 'memory-service-client';
import { expect, it, vi } from 'vitest';
import { setMount } from '../../src/core/tenants/mounts.ts';
import { Tenants } from '../../src/core/tenants/tenants.ts';
import { freshTenant } from '../support/test-service.ts';
import { useAgentFixture } from './agent-fixture.ts';

const fixture = useAgentFixture();

const create = { command: 'create', path: '/memories/f', file_text: 'x' } as const;
const insert = { command: 'insert', path: '/memories/f', insert_line: 0, insert_text: 'y' } as const;
const view = { command: 'view', path: '/memories/f' } as const;

const callError = (call: Promise<unknown>) =>
  call.then(
    () => undefined,
    (error: MemoryServiceError) => error,
  );

it('executes tool inputs and tool_use blocks, and marks a failure with is_error', async () => {
  const memory = fixture.client();
  expect(await memory.execute(create)).toStrictEqual({
    content: 'File created successfully at: /memories/f',
    is_error: false,
  });
  expect(
    await memory.execute({ type: 'tool_use', id: 'toolu_1', name: 'memory', input: create }),
  ).toStrictEqual({
    type: 'tool_result',
    tool_use_id: 'toolu_1',
    content: 'Error: File /memories/f already exists',
    is_error: true,
  });
});

it('keeps the context of a conversation: the snapshot, and then the changes', async () => {
  const memory = fixture.client();
  await memory.execute(create);
  const context = new MemoryContext(memory);
  expect(await context.start()).toContain('\n1B\t/memories/f\t');
  expect(context.guidance).toMatch(/^MEMORY PROTOCOL:\n/);
  expect(await context.update()).toBeUndefined();
  await memory.execute({ command: 'create', path: '/memories/pinned/a.md', file_text: 'Be brief.' });
  const changes =
    "<memory_changes>\nHere's the content of /memories/pinned/a.md with line numbers:\n     1\tBe brief.\n</memory_changes>";
  expect(await context.update()).toBe(changes);
  expect(await context.update()).toBeUndefined();
});

it('writes once if a response is lost, and returns the first result in the retry', async () => {
  vi.spyOn(Math, 'random').mockReturnValue(0);
  let lost = 0;
  const memory = fixture.client({
    fetch: async (url, init) => {
      const response = await fetch(url, init);
      lost++;
      if (lost % 3 !== 0) throw new TypeError('fetch failed');
      return response;
    },
  });
  expect((await memory.execute(create)).content).toBe('File created successfully at: /memories/f');
  expect((await memory.execute(insert)).content).toBe('The file /memories/f has been edited.');
  expect((await memory.execute(insert)).content).toBe('The file /memories/f has been edited.');
  expect((await memory.execute(view)).content).toBe(
    "Here's the content of /memories/f with line numbers:\n     1\ty\n     2\ty\n     3\tx",
  );
  expect(lost).toBe(12);
});

it('writes once if a failed call is repeated with the idempotency key from the error', async () => {
  const tenant = 'gave-up';
  await fixture.client({ tenant }).execute(create);
  const dropping = fixture.client({
    tenant,
    maxRetries: 0,
    fetch: async (url, init) => {
      await fetch(url, init);
      throw new TypeError('fetch failed');
    },
  });
  const error = await callError(dropping.execute(insert));
  expect(error).toMatchObject({ code: 'network_error', retryable: true });
  const memory = fixture.client({ tenant });
  const idempotencyKey = error?.idempotencyKey;
  expect((await memory.execute(insert, { idempotencyKey })).content).toBe(
    'The file /memories/f has been edited.',
  );
  expect((await memory.execute(view)).content).toBe(
    "Here's the content of /memories/f with line numbers:\n     1\ty\n     2\tx",
  );
});

it('names the status, code, request ID, and option to change in each error from the service', async () => {
  const problems = await Promise.all([
    callError(fixture.client({ apiKey: 'msk_wrong' }).execute(view)),
    callError(fixture.client({ tenant: 'not-a-tenant!' }).execute(view)),
    callError(fixture.client({ tenant: undefined }).execute(view)),
    callError(fixture.client({ apiKey: await fixture.tenantKey(), tenant: 'other' }).execute(view)),
    callError(new MemoryClient({ url: fixture.url }).execute(view)),
    callError(fixture.client({ url: `${fixture.url}/team` }).execute(view)),
    callError(fixture.client().execute({ type: 'tool_use', id: '', name: 'memory', input: {} })),
  ]);
  expect(problems.map((error) => [error?.status, error?.code, error?.retryable])).toStrictEqual([
    [401, 'unauthorized', false],
    [400, 'invalid_tenant', false],
    [400, 'tenant_required', false],
    [403, 'tenant_mismatch', false],
    [401, 'unauthorized', false],
    [404, 'route_not_found', false],
    [400, 'not_a_memory_input', false],
  ]);
  expect(problems.map((error) => error?.message)).toStrictEqual(
    [
      'The memory service responded with 401 unauthorized: `apiKey` is not a valid key or token of this service.',
      'The memory service responded with 400 invalid_tenant: `tenant` must be 1 to 128 of the characters A-Z a-z 0-9 . _ : @ -.',
      'The memory service responded with 400 tenant_required: The key is valid for many tenants. Set `tenant`.',
      'The memory service responded with 403 tenant_mismatch: The key is not valid for this `tenant`. Omit `tenant`, or use a key of that tenant.',
      'The memory service responded with 401 unauthorized: The service needs a key. Set `apiKey`.',
      `The memory service responded with 404 route_not_found: ${fixture.url}/team/execute does not exist. Check \`url\`.`,
      'The memory service responded with 400 not_a_memory_input: The body is not a memory tool input: the tool_use block has no `id`. Send {"command": "view", "path": "/memories"} or a whole tool_use block.',
    ].map((message, i) => `${message} (request ${problems[i]?.requestId})`),
  );
});

it('throws if an idempotency key is reused with another input', async () => {
  const memory = fixture.client();
  await memory.execute(create, { idempotencyKey: 'one' });
  const error = await callError(memory.execute(insert, { idempotencyKey: 'one' }));
  expect([error?.status, error?.code]).toStrictEqual([422, 'idempotency_key_reused']);
});

it('throws an error that names the URL if no service listens on the port', async () => {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  const error = await callError(
    new MemoryClient({ url: `http://127.0.0.1:${port}`, maxRetries: 0 }).execute(view),
  );
  expect(error?.message).toBe(
    `The memory service at http://127.0.0.1:${port} cannot be reached: ECONNREFUSED. Check \`url\` and that the service runs. (request ${error?.requestId})`,
  );
});

it('does not follow a redirect, so that a write reaches only the given URL', async () => {
  const visits: string[] = [];
  const server = createServer((request, response) => {
    visits.push(request.url ?? '');
    response.writeHead(307, { location: '/elsewhere' }).end();
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const error = await callError(fixture.client({ url: `http://127.0.0.1:${port}` }).execute(create));
  expect([error?.status, error?.code, error?.retryable]).toStrictEqual([307, 'http_307', false]);
  expect(visits).toStrictEqual(['/execute']);
  server.close();
  server.closeAllConnections();
});

it("returns the service's error as a result if a write uses a read-only key", async () => {
  const memory = new MemoryClient({ url: fixture.url, apiKey: await fixture.tenantKey('read_only') });
  expect(await memory.execute(create)).toStrictEqual({
    content: 'Error: This memory is read-only',
    is_error: true,
  });
});

it("returns a system prompt that describes the tenant's mounts", async () => {
  const [tenant, team] = [freshTenant('agent'), freshTenant('team')];
  for (const each of [tenant, team]) await new Tenants(fixture.database()).create(each);
  const mount = { name: 'team', tenant: team, access: 'read_write', instructions: 'Shared notes.' } as const;
  await setMount(fixture.database(), tenant, mount);
  const text = await fixture.client({ tenant: team }).instructions();
  expect(text).toMatch(/^IMPORTANT: ALWAYS VIEW YOUR MEMORY DIRECTORY BEFORE DOING ANYTHING ELSE\.\n/);
  expect(await fixture.client({ tenant }).instructions()).toBe(
    `${text}\n\nThese directories of your memory are memories of their own, which others may use too:\n- /memories/team (you can write; view a file right before you change it): Shared notes.`,
  );
});
