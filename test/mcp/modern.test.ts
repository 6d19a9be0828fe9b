/** `/mcp` with protocol version 2026-07-28, which has no sessions. */
import { once } from 'node:events';
import { type IncomingMessage, request } from 'node:http';
import { json } from 'node:stream/consumers';
import type { Client } from '@modelcontextprotocol/client';
import { describe, expect, it, onTestFinished } from 'vitest';
import { ALL_KEYS, Keys } from '../../src/core/tenants/keys.ts';
import { setMount } from '../../src/core/tenants/mounts.ts';
import { Tenants } from '../../src/core/tenants/tenants.ts';
import { useAgentFixture } from '../client/agent-fixture.ts';
import {
  connectModern,
  create,
  headersFor,
  MISSING,
  modern,
  requestHeaders,
  sendMcp,
  text,
  VIEWED,
  view,
} from '../support/mcp.ts';
import { toRights } from '../support/rights-client.ts';
import { freshTenant, startSharedService } from '../support/test-service.ts';

const fixture = useAgentFixture({ AUTH_CACHE_SECONDS: '1' });

const path = '/memories/user.md';
const URI = 'memory:///memories/user.md';
const connect = async (key?: string) =>
  connectModern(fixture.url, { Authorization: `Bearer ${key ?? (await fixture.tenantKey())}` });
const call = (client: Client, input: object) => client.callTool({ name: 'memory', arguments: { ...input } });
const memoryCall = (input: object) => modern('tools/call', { name: 'memory', arguments: input });

describe('the official MCP client, version 2', () => {
  it('reads the tools, the instructions, the prompt, and the files', async () => {
    const client = await connect();
    expect(client.getNegotiatedProtocolVersion()).toBe('2026-07-28');
    expect(client.getInstructions()).toMatch(/^IMPORTANT: ALWAYS VIEW YOUR MEMORY DIRECTORY/);
    expect((await client.listTools()).tools.map(({ name }) => name)).toStrictEqual([
      'memory',
      'memory_search',
    ]);
    const { messages } = await client.getPrompt({ name: 'memory-protocol' });
    expect(messages).toMatchObject([
      { content: { text: expect.stringMatching(/^IMPORTANT.*Do not create new files/s) } },
    ]);
    expect(await call(client, create)).toMatchObject(text('File created successfully at: /memories/user.md'));
    expect(await call(client, create)).toMatchObject(
      text('Error: File /memories/user.md already exists', true),
    );
    expect((await client.listResources()).resources).toMatchObject([
      { uri: 'memory:///context', name: 'memory-context' },
      { uri: URI, name: path },
    ]);
    const context = [{ text: expect.stringMatching(/^MEMORY PROTOCOL:.*\n14B\t\/memories\/user\.md\t/s) }];
    expect((await client.readResource({ uri: 'memory:///context' })).contents).toMatchObject(context);
    expect((await client.getPrompt({ name: 'memory-context' })).messages).toMatchObject(
      context.map((content) => ({ role: 'user', content })),
    );
    expect((await client.readResource({ uri: URI })).contents).toMatchObject([{ text: 'Lives in Lyon.' }]);
    const missing = client.readResource({ uri: 'memory:///memories/none.md' });
    await expect(missing).rejects.toMatchObject({
      code: -32602,
      data: { uri: 'memory:///memories/none.md' },
    });
  });

  it('runs parallel calls on one file in the order in which they are sent', async () => {
    const client = await connect();
    for (let round = 0; round < 5; round++) {
      const file = `/memories/${round}.md`;
      // A large body arrives later than the small bodies behind it.
      const lines = 'x\n'.repeat(round % 2 === 0 ? 1 : 64 * 1024);
      const results = await Promise.all([
        call(client, { command: 'create', path: file, file_text: lines }),
        call(client, { command: 'insert', path: file, insert_line: 0, insert_text: 'a' }),
        call(client, { command: 'insert', path: file, insert_line: 1, insert_text: 'b' }),
        call(client, { command: 'view', path: file, view_range: [1, 3] }),
      ]);
      expect(results.at(-1)).toMatchObject(
        text(`Here's the content of ${file} with line numbers:\n     1\ta\n     2\tb\n     3\tx`),
      );
    }
  });

  it('applies a call only once if a host sends it twice with the same tool use ID', async () => {
    const client = await connect();
    await call(client, create);
    const insert = { command: 'insert', path, insert_line: 1, insert_text: 'Likes tea.' };
    const callAgain = () =>
      client.callTool({ name: 'memory', arguments: insert, _meta: { 'claudecode/toolUseId': 'toolu_once' } });
    expect([await callAgain(), await callAgain()]).toMatchObject(
      Array.from({ length: 2 }, () => text('The file /memories/user.md has been edited.')),
    );
    expect(await call(client, view)).toMatchObject(text(`${VIEWED}\n     2\tLikes tea.`));
  });
});

/** Sends the request headers and resolves once the server has received them. The caller sends the body. */
async function begin(headers: Record<string, string>) {
  const sent = request(`${fixture.url}/mcp`, {
    method: 'POST',
    headers: { ...headers, expect: '100-continue' },
  });
  sent.on('error', () => {});
  onTestFinished(() => void sent.destroy());
  sent.flushHeaders();
  await once(sent, 'continue');
  return sent;
}

describe('a call without a session', () => {
  it('delays a call without a session until an earlier request with the same key has ended', async () => {
    const key = await fixture.tenantKey();
    const first = await begin(requestHeaders(key, headersFor(memoryCall(create))));
    const viewed = sendMcp(fixture.url, memoryCall(view), requestHeaders(key, headersFor(memoryCall(view))));
    first.end(JSON.stringify(memoryCall(create)));
    const [response] = (await once(first, 'response')) as [IncomingMessage];
    expect(await json(response)).toMatchObject({
      result: text('File created successfully at: /memories/user.md'),
    });
    expect((await viewed).body).toMatchObject({ result: text(VIEWED) });
  });

  it('runs a call immediately if the earlier request has another key', async () => {
    const headers = headersFor(memoryCall(view));
    const first = await begin(requestHeaders(await fixture.tenantKey(), headers));
    const key = await fixture.tenantKey();
    const viewed = await sendMcp(fixture.url, memoryCall(view), requestHeaders(key, headers));
    expect(viewed.body).toMatchObject({ result: text(MISSING, true) });
    first.destroy();
  });

  it('ignores a session header', async () => {
    const message = modern('tools/list');
    const headers = requestHeaders(await fixture.tenantKey(), {
      ...headersFor(message),
      'mcp-session-id': 'x',
    });
    const { status, headers: received } = await sendMcp(fixture.url, message, headers);
    expect([status, received.get('mcp-session-id')]).toStrictEqual([200, null]);
  });
});

describe('a subscription', () => {
  /** Opens a subscription and collects the messages in its stream. */
  async function listenToNotifications(url: string, notifications: object, headers: Record<string, string>) {
    const message = modern('subscriptions/listen', { notifications }, 7);
    const abort = new AbortController();
    onTestFinished(() => abort.abort());
    const response = await fetch(`${url}/mcp`, {
      method: 'POST',
      headers: { ...headers, ...headersFor(message) },
      body: JSON.stringify(message),
      signal: abort.signal,
    });
    const messages: unknown[] = [];
    const ended = (async () => {
      const lines = response.body?.pipeThrough(new TextDecoderStream()) ?? [];
      for await (const chunk of lines)
        for (const [, data = ''] of chunk.matchAll(/^data: (.*)$/gm)) messages.push(JSON.parse(data));
    })().catch(() => {});
    return { response, messages, ended };
  }

  const note = (method: string, params = {}) => ({
    jsonrpc: '2.0',
    method: `notifications/${method}`,
    params: { ...params, _meta: { 'io.modelcontextprotocol/subscriptionId': 7 } },
  });

  it('acknowledges the filter, and then reports changed files and changes to the file list', async () => {
    const { key, tenant } = await fixture.tenantWithKey();
    const team = await fixture.tenantWithKey();
    await setMount(fixture.database(), tenant, {
      name: 'team',
      tenant: team.tenant,
      access: 'read_only',
      instructions: '',
    });
    const mounted = 'memory:///memories/team/plan.md';
    const filter = { resourceSubscriptions: [URI, mounted], resourcesListChanged: true };
    const { response, messages } = await listenToNotifications(
      fixture.url,
      { ...filter, toolsListChanged: true },
      requestHeaders(key),
    );
    expect(response.status).toBe(200);
    expect(response.headers.get('content-type')).toBe('text/event-stream');
    expect(response.headers.get('x-accel-buffering')).toBe('no');
    await expect.poll(() => messages).toHaveLength(1);
    expect(messages[0]).toStrictEqual(note('subscriptions/acknowledged', { notifications: filter }));

    const own = await connect(key);
    await call(own, create);
    await expect.poll(() => messages, { timeout: 20_000 }).toHaveLength(3);
    expect(messages.slice(1)).toStrictEqual([
      note('resources/updated', { uri: URI }),
      note('resources/list_changed'),
    ]);
    await call(own, { command: 'str_replace', path, old_str: 'Lyon', new_str: 'Nice' });
    await expect.poll(() => messages, { timeout: 20_000 }).toHaveLength(4);
    expect(messages.at(-1)).toStrictEqual(note('resources/updated', { uri: URI }));
    await call(await connect(team.key), { command: 'create', path: '/memories/plan.md', file_text: 'x' });
    await expect.poll(() => messages, { timeout: 20_000 }).toHaveLength(6);
    expect(messages.slice(4)).toStrictEqual([
      note('resources/updated', { uri: mounted }),
      note('resources/list_changed'),
    ]);
  });

  it('reports changes to the context, by the caller and in a mounted memory', async () => {
    const { key, tenant } = await fixture.tenantWithKey();
    const team = await fixture.tenantWithKey();
    const mount = { name: 'team', tenant: team.tenant, access: 'read_only', instructions: '' } as const;
    await setMount(fixture.database(), tenant, mount);
    const uri = 'memory:///context';
    const filter = { resourceSubscriptions: [uri] };
    const { messages } = await listenToNotifications(fixture.url, filter, requestHeaders(key));
    await expect.poll(() => messages).toHaveLength(1);
    for (const [i, writer] of [key, team.key].entries()) {
      await call(await connect(writer), create);
      await expect.poll(() => messages, { timeout: 20_000 }).toHaveLength(i + 2);
      expect(messages.at(-1)).toStrictEqual(note('resources/updated', { uri }));
    }
  });

  it('reports changes to the list and to the context only for files that are not hidden', async () => {
    const { key, tenant } = await fixture.tenantWithKey();
    const rights = toRights({ '/memories/secret': 'none' });
    const purpose = { tenant, rights, access: 'read_write', label: '', expiresAt: null } as const;
    const limited = await new Keys(fixture.database()).issue(purpose);
    const uri = 'memory:///context';
    const filter = { resourceSubscriptions: [uri], resourcesListChanged: true };
    const { messages } = await listenToNotifications(fixture.url, filter, requestHeaders(limited.key));
    await expect.poll(() => messages).toHaveLength(1);
    const own = await connect(key);
    const all = await listenToNotifications(fixture.url, filter, requestHeaders(key));
    await expect.poll(() => all.messages).toHaveLength(1);
    await call(own, { ...create, path: '/memories/secret/a.md' });
    await expect.poll(() => all.messages, { timeout: 20_000 }).toHaveLength(3);
    expect(messages).toHaveLength(1);
    await call(own, create);
    await expect.poll(() => messages, { timeout: 20_000 }).toHaveLength(3);
    expect(messages.slice(1)).toStrictEqual([
      note('resources/updated', { uri }),
      note('resources/list_changed'),
    ]);
  });

  it("reports changes to a path with propose in the caller's draft only, and to other paths in the memory", async () => {
    const { key, tenant } = await fixture.tenantWithKey();
    const rights = toRights({ '/memories/policies': 'propose' });
    const purpose = { tenant, rights, access: 'read_write', label: '', expiresAt: null } as const;
    const limited = await new Keys(fixture.database()).issue(purpose);
    const [owner, agent] = [await connect(key), await connect(limited.key)];
    const proposed = '/memories/policies/a.md';
    const [uri, own] = [`memory://${proposed}`, URI];
    await call(agent, { ...create, path: proposed });
    const filter = { resourceSubscriptions: [uri, own] };
    const { messages } = await listenToNotifications(fixture.url, filter, requestHeaders(limited.key));
    await expect.poll(() => messages).toHaveLength(1);
    await call(owner, { ...create, path: proposed });
    await call(owner, create);
    await expect.poll(() => messages, { timeout: 20_000 }).toHaveLength(2);
    await call(agent, { ...create, command: 'delete', path: proposed });
    await expect.poll(() => messages, { timeout: 20_000 }).toHaveLength(3);
    expect(messages.slice(1)).toStrictEqual([
      note('resources/updated', { uri: own }),
      note('resources/updated', { uri }),
    ]);
  });

  it('reports a changed file to the official client, version 2', async () => {
    const client = await connect();
    const updated: unknown[] = [];
    client.setNotificationHandler(
      'notifications/resources/updated',
      ({ params }) => void updated.push(params.uri),
    );
    const subscription = await client.listen({ resourceSubscriptions: [URI] });
    onTestFinished(() => subscription.close());
    await call(client, create);
    await expect.poll(() => updated, { timeout: 20_000 }).toStrictEqual([URI]);
  });

  it('uses no slot during a subscription, and returns a result when the service stops', async () => {
    const service = await startSharedService('postgres', { MAX_IN_FLIGHT_PER_TENANT: '1' });
    const url = await service.app.listen({ host: '127.0.0.1', port: 0 });
    const headers = requestHeaders(undefined, { 'x-tenant-id': freshTenant() });
    const { messages, ended } = await listenToNotifications(url, { resourcesListChanged: true }, headers);
    await expect.poll(() => messages).toHaveLength(1);
    const viewed = await sendMcp(url, memoryCall(view), { ...headers, ...headersFor(memoryCall(view)) });
    expect(viewed.body).toMatchObject({ result: text(MISSING, true) });
    await service.close();
    await ended;
    expect(messages.at(-1)).toMatchObject({ id: 7, result: { resultType: 'complete' } });
  });

  const untilIn = (ms: number) => new Date(Date.now() + ms).toISOString();
  it.each<[string, (keys: Keys, tenants: Tenants, id: string, tenant: string) => Promise<unknown>]>([
    ['its key is revoked', (keys, _, id) => keys.revoke(id)],
    ['its key expires', (keys, _, id) => keys.update(id, { expiresAt: untilIn(1500) })],
    ["its key's secret was replaced", (keys, _, id) => keys.rotate(id, 0)],
    ['its tenant is suspended', (_keys, tenants, _id, tenant) => tenants.suspend(tenant, true)],
    ['its tenant is deleted', (_keys, tenants, _id, tenant) => tenants.delete(tenant)],
    [
      'its tenant is deleted and created again',
      async (_keys, tenants, _id, tenant) => {
        await tenants.delete(tenant);
        await tenants.create(tenant);
      },
    ],
    [
      'its tenant gets a mount',
      async (_keys, _tenants, _id, tenant) => {
        const team = await fixture.tenantWithKey();
        const mount = { name: 'team', tenant: team.tenant, access: 'read_only', instructions: '' } as const;
        await setMount(fixture.database(), tenant, mount);
      },
    ],
  ])('ends a subscription if %s', { tags: 'long' }, async (_, change) => {
    const { key, tenant } = await fixture.tenantWithKey();
    const { messages, ended } = await listenToNotifications(
      fixture.url,
      { resourcesListChanged: true },
      requestHeaders(key),
    );
    await expect.poll(() => messages).toHaveLength(1);
    const keys = new Keys(fixture.database());
    const [{ id = '' } = {}] = await keys.list({ ...ALL_KEYS, tenant });
    await change(keys, new Tenants(fixture.database()), id, tenant);
    await ended;
    expect(messages.at(-1)).toMatchObject({ id: 7, result: { resultType: 'complete' } });
  });

  it.each([
    [
      'without a filter',
      undefined,
      "Invalid params: 'notifications' is required and must be a valid SubscriptionFilter",
    ],
    [
      'of too many files',
      { resourceSubscriptions: Array.from({ length: 257 }, (_, i) => `${URI}${i}`) },
      '`resourceSubscriptions` names 257 files, and at most 256 are allowed.',
    ],
  ])('rejects a subscription %s', async (_, notifications, message) => {
    const sent = modern('subscriptions/listen', { notifications });
    const headers = requestHeaders(await fixture.tenantKey(), headersFor(sent));
    expect((await sendMcp(fixture.url, sent, headers)).body).toMatchObject({
      error: { code: -32602, message },
    });
  });
});
