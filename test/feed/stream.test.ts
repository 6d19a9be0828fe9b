/** The live stream of changes, over sockets, from two replicas. */
import { once } from 'node:events';
import { get, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { Keys } from '../../src/core/tenants/keys.ts';
import { Tenants } from '../../src/core/tenants/tenants.ts';
import { makeKey } from '../support/admin.ts';
import { run } from '../support/restore-run.ts';
import { cmd } from '../support/step-table.ts';
import { createTestDatabase } from '../support/test-database.ts';
import { freshTenant, type Service, startService } from '../support/test-service.ts';

let replicas: [Service, Service];
let keyed: Service;
const cleanups: (() => Promise<unknown>)[] = [];

beforeAll(async () => {
  const own = await createTestDatabase();
  const start = async (env: Record<string, string> = {}) => {
    const service = await startService('postgres', { DATABASE_URL: own.url, ...env });
    await service.app.listen({ host: '127.0.0.1', port: 0 });
    cleanups.unshift(() => service.close());
    return service;
  };
  cleanups.push(own.drop);
  replicas = [await start(), await start()];
  keyed = await start({ AUTH: 'keys', AUTH_CACHE_SECONDS: '1' });
});
afterAll(async () => {
  for (const cleanup of cleanups) await cleanup();
});

interface Message {
  id?: string;
  event?: string;
  data?: { type: string; version: { path: string | null } } & { code: string };
}

/** A client that reads server-sent events. */
class Client {
  readonly #response: IncomingMessage;
  readonly #messages: AsyncIterator<Message>;
  /** Position at the start, which the first message has. */
  start: string | undefined;

  private constructor(response: IncomingMessage) {
    this.#response = response.setEncoding('utf8').on('error', () => {});
    this.#messages = this.#read();
  }

  static async open({ app }: Service, query: string, headers: Record<string, string>): Promise<Client> {
    const { port } = app.server.address() as AddressInfo;
    const request = get({
      port,
      path: `/v1/changes${query}`,
      headers: { accept: 'text/event-stream', ...headers },
      agent: false,
    });
    request.on('error', () => {});
    const [response] = (await once(request, 'response')) as [IncomingMessage];
    expect([response.statusCode, response.headers['content-type']]).toStrictEqual([200, 'text/event-stream']);
    const client = new Client(response);
    client.start = (await client.next()).id;
    return client;
  }

  async *#read(): AsyncGenerator<Message> {
    let text = '';
    for await (const chunk of this.#response) {
      text += chunk;
      const blocks = text.split('\n\n');
      text = blocks.pop() ?? '';
      for (const block of blocks) {
        const fields = Object.fromEntries(block.split('\n').map((line) => line.split(/: ?(.*)/s, 2)));
        const { id, event, data } = fields as { id?: string; event?: string; data?: string };
        if (id === undefined && data === undefined) continue;
        yield {
          ...(id !== undefined && { id }),
          ...(event !== undefined && { event }),
          ...(data !== undefined && { data: JSON.parse(data) }),
        };
      }
    }
  }

  async next(): Promise<Message> {
    const { done, value } = await this.#messages.next();
    if (done) throw new Error('The stream has ended.');
    return value;
  }

  async change(): Promise<string> {
    const { data } = await this.next();
    return `${data?.type} ${data?.version.path}`;
  }

  close(): void {
    this.#response.destroy();
  }
}

it("sends the changes by any replica, and continues after the last event's ID", async () => {
  const tenant = freshTenant();
  const headers = { 'x-tenant-id': tenant };
  const client = await Client.open(replicas[0], '?after=now', headers);
  await run(replicas[0], tenant, cmd.create('/memories/a', '1'));
  expect(await client.change()).toBe('created /memories/a');
  await run(replicas[1], tenant, cmd.create('/memories/b', '1'));
  const { id, data } = await client.next();
  expect(data).toMatchObject({ type: 'created', version: { path: '/memories/b' } });
  client.close();
  await run(replicas[1], tenant, cmd.rename('/memories/b', '/memories/c'));
  const again = await Client.open(replicas[1], '?after=now', { ...headers, 'last-event-id': id ?? '' });
  expect(await again.change()).toBe('renamed /memories/c');
  await run(replicas[0], tenant, cmd.delete('/memories/c'));
  expect(await again.change()).toBe('deleted /memories/c');
  again.close();
});

it('continues after the start of a stream that broke before its first event', async () => {
  const tenant = freshTenant();
  const headers = { 'x-tenant-id': tenant };
  const client = await Client.open(replicas[0], '?after=now', headers);
  client.close();
  await run(replicas[1], tenant, cmd.create('/memories/a', '1'));
  const again = await Client.open(replicas[0], '?after=now', {
    ...headers,
    'last-event-id': client.start ?? '',
  });
  expect(await again.change()).toBe('created /memories/a');
  again.close();
});

it('sends the position after events that the filter leaves out', async () => {
  const tenant = freshTenant();
  const client = await Client.open(replicas[0], '?after=now&path=/memories/d', { 'x-tenant-id': tenant });
  await run(replicas[0], tenant, cmd.create('/memories/a', '1'));
  const skipped = await client.next();
  expect(skipped).toStrictEqual({ id: expect.any(String) });
  await run(replicas[0], tenant, cmd.create('/memories/d/b', '1'));
  expect(await client.change()).toBe('created /memories/d/b');
  client.close();
  const again = await Client.open(replicas[0], '', {
    'x-tenant-id': tenant,
    'last-event-id': skipped.id ?? '',
  });
  expect(await again.change()).toBe('created /memories/d/b');
  again.close();
});

it('sends all changes to a client that did not read for a while', async () => {
  const tenant = freshTenant();
  const client = await Client.open(replicas[0], '?content=true', { 'x-tenant-id': tenant });
  const names = Array.from({ length: 60 }, (_, i) => `/memories/f${i}`);
  // More than the buffers of a connection hold.
  const text = 'x'.repeat(100_000);
  for (const name of names) await run(replicas[0], tenant, cmd.create(name, text));
  for (const name of names) expect(await client.change()).toBe(`created ${name}`);
  client.close();
});

it('ends with a problem when the key is revoked', async () => {
  const tenant = freshTenant();
  await new Tenants(keyed.database).create(tenant);
  const { key, id } = await makeKey(keyed, { tenant });
  const client = await Client.open(keyed, '', { authorization: `Bearer ${key}` });
  await new Keys(keyed.database).revoke(id);
  expect(await client.next()).toMatchObject({ event: 'problem', data: { code: 'unauthorized' } });
  await expect(client.next()).rejects.toThrow('The stream has ended.');
});

it('ends with a problem when the position expires', async () => {
  const tenant = freshTenant();
  const [replica] = replicas;
  await run(replica, tenant, cmd.create('/memories/a', '1'));
  const client = await Client.open(replica, '', { 'x-tenant-id': tenant });
  expect(await client.change()).toBe('created /memories/a');
  await replica.query("UPDATE tenants SET history_since = '2099-01-01T00:00:00Z' WHERE id = $1::text", [
    tenant,
  ]);
  await run(replica, tenant, cmd.create('/memories/b', '1'));
  expect(await client.next()).toMatchObject({ event: 'problem', data: { code: 'changes_expired' } });
});
