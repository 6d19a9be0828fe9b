/**
 * Bursts wait for a slot, requests that cannot be served in time are rejected, and no tenant uses other tenants'
 * capacity.
 */
import { once } from 'node:events';
import { Agent, request } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { setImmediate } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Tenants } from '../../src/core/tenants/tenants.ts';
import { cmd } from '../support/step-table.ts';
import { type Service, startService } from '../support/test-service.ts';

async function metric(service: Service, name: string): Promise<number> {
  const { body } = await service.app.inject('/metrics');
  return Number(new RegExp(`^${name} (.+)$`, 'm').exec(body)?.[1]);
}

async function waitUntil(
  service: Service,
  name: string,
  isWanted: (value: number) => boolean,
): Promise<void> {
  while (!isWanted(await metric(service, name))) await setImmediate();
}

async function listen(service: Service): Promise<number> {
  await service.app.listen({ host: '127.0.0.1', port: 0 });
  return (service.app.server.address() as AddressInfo).port;
}

/** Blocks the tenants' writes until the returned function is called. */
async function hold(service: Service, ...tenants: string[]): Promise<() => Promise<unknown>> {
  await service.query('BEGIN');
  // Locks one row after the other, because Citus cannot lock rows from several shards in one statement.
  for (const tenant of tenants)
    await service.query('SELECT 1 FROM tenants WHERE id = $1 FOR UPDATE', [tenant]);
  return () => service.query('ROLLBACK');
}

/** Formats a POST /execute request for a tenant. */
function http(tenant: string, body: string, contentLength = body.length): string {
  return `POST /execute HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nX-Tenant-Id: ${tenant}\r\nContent-Length: ${contentLength}\r\n\r\n${body}`;
}

async function open(port: number): Promise<Socket> {
  const socket = connect(port, '127.0.0.1').on('error', () => {});
  await once(socket, 'connect');
  return socket;
}

/** Resolves with all data that a socket receives until it is closed. */
async function readResponseText(socket: Socket): Promise<string> {
  let text = '';
  socket.setEncoding('utf8').on('data', (chunk) => {
    text += chunk;
  });
  await once(socket, 'close');
  return text;
}

describe('a burst', () => {
  let service: Service;
  let port: number;
  const agent = new Agent({ maxSockets: Number.POSITIVE_INFINITY });
  beforeAll(async () => {
    service = await startService('postgres', {
      // The defaults, which `startService` disables.
      MAX_IN_FLIGHT: '64',
      MAX_IN_FLIGHT_PER_TENANT: '32',
      // Long enough for a busy machine.
      MAX_QUEUE_MS: '60000',
    });
    port = await listen(service);
  });
  afterAll(() => service.close());

  const post = async (tenant: string, input: object) => {
    const sent = request({
      port,
      agent,
      method: 'POST',
      path: '/execute',
      headers: { 'content-type': 'application/json', 'x-tenant-id': tenant },
    });
    sent.end(JSON.stringify(input));
    const [response] = await once(sent, 'response');
    await response.toArray();
    return response.statusCode;
  };

  it('delivers all responses to 400 requests from one tenant', async () => {
    const answers = await Promise.all(
      Array.from({ length: 400 }, (_, i) => post('one', cmd.create(`/memories/${i}`, 'x'))),
    );
    expect(answers).toStrictEqual(Array(400).fill(200));
  });

  it('delivers all responses to 1,000 requests from 100 tenants', { tags: 'long' }, async () => {
    const answers = await Promise.all(
      Array.from({ length: 1000 }, (_, i) => post(`of-many-${i % 100}`, cmd.create(`/memories/${i}`, 'x'))),
    );
    expect(answers).toStrictEqual(Array(1000).fill(200));
    expect(await metric(service, 'memory_requests_in_flight')).toBe(0);
    expect(await metric(service, 'memory_bytes_in_flight')).toBe(0);
  });
});

describe('an overload', () => {
  let service: Service;
  beforeAll(async () => {
    service = await startService('postgres', {
      MAX_IN_FLIGHT: '3',
      MAX_IN_FLIGHT_PER_TENANT: '2',
      MAX_IN_FLIGHT_BYTES: '400000',
      MAX_QUEUE_MS: '50',
    });
    for (const tenant of ['a', 'b', 'c', 'd'])
      await service.execute(cmd.create('/memories/f', 'x'), { tenant });
  });
  afterAll(() => service.close());

  const write = (tenant: string, path: string) => service.execute(cmd.create(path, 'x'), { tenant });

  it('rejects waiting requests with 503 or 429 after MAX_QUEUE_MS, and completes accepted requests', async () => {
    const release = await hold(service, 'a', 'b');
    const accepted = [write('a', '/memories/1'), write('a', '/memories/2')];
    await waitUntil(service, 'memory_requests_in_flight', (count) => count === 2);
    const tooMany = await write('a', '/memories/3');
    expect([tooMany.status, tooMany.body.code, tooMany.body.detail, tooMany.headers['retry-after']]).toEqual([
      429,
      'too_many_at_once',
      'Too many requests are in flight. Wait for their responses.',
      '1',
    ]);
    accepted.push(write('b', '/memories/1'));
    await waitUntil(service, 'memory_requests_in_flight', (count) => count === 3);
    const shed = await write('c', '/memories/1');
    expect([shed.status, shed.body.code, shed.body.detail, shed.headers['retry-after']]).toEqual([
      503,
      'overloaded',
      'The service is at capacity. Try again shortly.',
      '1',
    ]);
    // Health checks still respond.
    expect((await service.app.inject('/healthz')).statusCode).toBe(200);
    await release();
    expect((await Promise.all(accepted)).map(({ content }) => content)).toStrictEqual([
      'File created successfully at: /memories/1',
      'File created successfully at: /memories/2',
      'File created successfully at: /memories/1',
    ]);
    expect(await metric(service, 'memory_requests_in_flight')).toBe(0);
    expect((await write('c', '/memories/1')).status).toBe(200);
  });

  it('detects an overload by bytes in flight, but accepts one large body if nothing else runs', async () => {
    const big = cmd.create('/memories/big', 'x'.repeat(500_000));
    expect((await service.execute(big, { tenant: 'd' })).content).toBe(
      'File created successfully at: /memories/big',
    );
    const release = await hold(service, 'a');
    const waiting = write('a', '/memories/held');
    await waitUntil(service, 'memory_requests_in_flight', (count) => count === 1);
    const shed = await service.execute({ ...big, path: '/memories/big2' }, { tenant: 'd' });
    expect([shed.status, shed.body.code, shed.headers.connection]).toStrictEqual([
      503,
      'overloaded',
      'close',
    ]);
    await release();
    expect((await waiting).status).toBe(200);
    expect(await metric(service, 'memory_bytes_in_flight')).toBe(0);
  });

  it('releases the slot when a request fails early', async () => {
    for (let i = 0; i < 5; i++) {
      expect((await service.execute('{', { tenant: 'a' })).status).toBe(400);
      expect((await service.execute(cmd.view('/memories'), { tenant: 'a b' })).status).toBe(400);
    }
    expect(await metric(service, 'memory_requests_in_flight')).toBe(0);
    expect(await metric(service, 'memory_bytes_in_flight')).toBe(0);
  });
});

describe('clients that disconnect', () => {
  let service: Service;
  let port: number;
  beforeAll(async () => {
    service = await startService('postgres', { MAX_IN_FLIGHT_PER_TENANT: '2', MAX_QUEUE_MS: '60000' });
    port = await listen(service);
  });
  afterAll(() => service.close());
  const view = JSON.stringify(cmd.view('/memories'));

  it('releases all resources if the client disconnects while its tenant is looked up', async () => {
    await service.query('BEGIN');
    await service.query('LOCK TABLE tenants IN ACCESS EXCLUSIVE MODE');
    await Promise.all(
      Array.from({ length: 4 }, async () => {
        const socket = await open(port);
        socket.write(`${http('gone', view)}\0garbage`);
        await readResponseText(socket);
      }),
    );
    await service.query('ROLLBACK');
    for (let i = 0; i < 3; i++) {
      const answer = await service.execute(cmd.view('/memories'), { tenant: 'gone' });
      expect(answer.status).toBe(200);
    }
    await waitUntil(service, 'memory_bytes_in_flight', (bytes) => bytes === 0);
  });

  it('removes a waiting request from the queue if the client disconnects', async () => {
    await new Tenants(service.database).create('held');
    const release = await hold(service, 'held');
    const write = (path: string) => service.execute(cmd.create(path, 'x'), { tenant: 'held' });
    const accepted = [write('/memories/1'), write('/memories/2')];
    await waitUntil(service, 'memory_requests_in_flight', (count) => count === 2);
    const socket = await open(port);
    socket.write(http('held', JSON.stringify(cmd.create('/memories/3', 'x'))));
    await waitUntil(service, 'memory_requests_waiting', (count) => count === 1);
    socket.resetAndDestroy();
    await waitUntil(service, 'memory_requests_waiting', (count) => count === 0);
    await release();
    for (const { status } of await Promise.all(accepted)) expect(status).toBe(200);
    expect((await service.execute(cmd.view('/memories/3'), { tenant: 'held' })).is_error).toBe(true);
  });

  it('releases all resources if a client disconnects during pipelined requests', async () => {
    await new Tenants(service.database).create('pipelined');
    const release = await hold(service, 'pipelined');
    const socket = await open(port);
    const write = JSON.stringify(cmd.create('/memories/first', 'x'));
    // The responses to the views are ready but queued behind the response to the write.
    socket.write(http('pipelined', write) + http('other', view).repeat(7));
    await waitUntil(service, 'memory_bytes_in_flight', (bytes) => bytes > 8 * 16_384);
    await waitUntil(service, 'memory_requests_in_flight', (count) => count === 1);
    socket.resetAndDestroy();
    await waitUntil(service, 'memory_bytes_in_flight', (bytes) => bytes < 2 * 16_384);
    await release();
    await waitUntil(service, 'memory_bytes_in_flight', (bytes) => bytes === 0);
    expect(await metric(service, 'memory_requests_in_flight')).toBe(0);
  });
});

it('delivers the 413 even to a client that sends far too many bytes', async () => {
  const service = await startService('postgres');
  const port = await listen(service);
  for (let i = 0; i < 10; i++) {
    const length = (7 + i) * 1024 * 1024;
    const sent = request({
      port,
      agent: false,
      method: 'POST',
      path: '/execute',
      headers: {
        'content-type': 'application/json',
        // Without Content-Length, the service reads the body up to the limit.
        ...(i % 2 === 0 ? { 'content-length': length } : {}),
      },
    });
    sent.end(Buffer.alloc(length, 'x'));
    const [response] = await once(sent, 'response');
    const { code } = JSON.parse(Buffer.concat(await response.toArray()).toString());
    expect([response.statusCode, code]).toStrictEqual([413, 'body_too_large']);
  }
  await service.close();
});

describe('slow bodies', () => {
  it("reserves no slots for slow bodies, and limits their bytes to the tenant's share", async () => {
    const service = await startService('postgres', {
      MAX_IN_FLIGHT: '4',
      MAX_IN_FLIGHT_PER_TENANT: '2',
      MAX_IN_FLIGHT_BYTES: '4000000',
      MAX_QUEUE_MS: '50',
      TRANSFER_TIMEOUT_MS: '60000',
    });
    const port = await listen(service);
    const stalled = await Promise.all(Array.from({ length: 64 }, () => open(port)));
    for (const [i, socket] of stalled.entries()) socket.write(http(`stalled-${i % 4}`, '', 5_000_000));
    await waitUntil(service, 'memory_bytes_in_flight', (bytes) => bytes === 64 * 16_384);
    expect((await service.execute(cmd.view('/memories'), { tenant: 'stalled-0' })).status).toBe(200);
    for (const socket of stalled) socket.destroy();
    await waitUntil(service, 'memory_bytes_in_flight', (bytes) => bytes === 0);

    const slow = await Promise.all(Array.from({ length: 22 }, () => open(port)));
    const rejected = Promise.race(slow.map((socket) => once(socket.setEncoding('utf8'), 'data')));
    for (const socket of slow) socket.write(http('slow', `"${'x'.repeat(200_000)}`, 5_000_000));
    // The tenant can use 1,000,000 bytes. Bodies that do not fit in time are rejected.
    expect((await rejected)[0]).toMatch(/^HTTP\/1.1 429 Too Many Requests\r\n/);
    const body = cmd.create('/memories/f', 'x'.repeat(500_000));
    expect((await service.execute(body, { tenant: 'other' })).status).toBe(200);
    for (const socket of slow) socket.destroy();
    await service.close();
  });

  it('rejects slow bodies with 408', async () => {
    const service = await startService('postgres', { TRANSFER_TIMEOUT_MS: '50' });
    const port = await listen(service);
    const socket = await open(port);
    socket.write(http('slow', '{"command":', 5000));
    const answer = await readResponseText(socket);
    const [head = '', body = ''] = answer.split('\r\n\r\n');
    expect(head).toMatch(/^HTTP\/1.1 408 Request Timeout\r\n/);
    expect(head).toMatch(/\r\ncontent-type: application\/problem\+json/i);
    expect(head).toMatch(/\r\nconnection: close\r\n/i);
    expect(JSON.parse(body)).toMatchObject({
      code: 'body_timeout',
      detail: 'The body arrived too slowly. Send it again over a faster connection.',
    });
    await service.close();
  });
});

it('runs fewer requests at a time for a tenant that sends large bodies', async () => {
  const service = await startService('postgres', { MAX_IN_FLIGHT_PER_TENANT: '32', MAX_QUEUE_MS: '60000' });
  const tenant = 'large';
  await service.execute(cmd.create('/memories/f'), { tenant });
  const release = await hold(service, tenant);
  const writes = Array.from({ length: 5 }, (_, i) =>
    service.execute(cmd.create(`/memories/${i}`, 'x'.repeat(200_000)), { tenant }),
  );
  await waitUntil(service, 'memory_requests_waiting', (count) => count === 3);
  expect(await metric(service, 'memory_requests_in_flight')).toBe(2);
  expect((await service.execute(cmd.view('/memories'), { tenant: 'other' })).status).toBe(200);
  await release();
  for (const { status } of await Promise.all(writes)) expect(status).toBe(200);
  await service.close();
});

it('releases the slot before a response is read, and the bytes when the connection times out', {
  tags: 'long',
}, async () => {
  const service = await startService('postgres', {
    TRANSFER_TIMEOUT_MS: '20',
    MAX_VIEW_CHARS: '0',
    MAX_FILE_BYTES: '0',
    MAX_IN_FLIGHT: '1',
  });
  const port = await listen(service);
  const tenant = 'reader';
  // Exceeds a connection's buffers.
  await service.execute(cmd.create('/memories/f', 'x'.repeat(16_000_000)), { tenant });
  const socket = await open(port);
  socket.pause();
  socket.write(http(tenant, JSON.stringify(cmd.view('/memories/f'))));
  await waitUntil(service, 'memory_bytes_in_flight', (bytes) => bytes > 16_000_000);
  expect(await metric(service, 'memory_requests_in_flight')).toBe(0);
  expect((await service.execute(cmd.view('/memories'), { tenant: 'other' })).status).toBe(200);
  await waitUntil(service, 'memory_bytes_in_flight', (bytes) => bytes === 0);
  socket.destroy();
  await service.close();
});

it('responds with 503 if a request exceeds the timeout, and returns the result to a retry', async () => {
  const service = await startService('postgres', { HANDLER_TIMEOUT_MS: '300' });
  const url = await service.app.listen({ host: '127.0.0.1', port: 0 });
  // Uses a socket, because an injected request reads its body in another way.
  const send = async () => {
    const response = await fetch(`${url}/execute`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({
        type: 'tool_use',
        id: 'toolu_slow',
        name: 'memory',
        input: cmd.create('/memories/slow', 'x'),
      }),
    });
    return { status: response.status, ...((await response.json()) as { code?: string; content?: string }) };
  };
  await service.query(`INSERT INTO tenants (id) VALUES ('default')`);
  await service.query('BEGIN');
  await service.query(`SELECT 1 FROM tenants WHERE id = 'default' FOR UPDATE`);
  expect(await send()).toMatchObject({ status: 503, code: 'timeout' });
  await service.query('ROLLBACK');
  let answer = await send();
  while (answer.status === 503) answer = await send();
  expect(answer).toMatchObject({ status: 200, content: 'File created successfully at: /memories/slow' });
  await service.close();
});
