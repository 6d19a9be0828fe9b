/** A short version of `npm run test:faults`, and slow and broken clients. */
import { once } from 'node:events';
import { rm } from 'node:fs/promises';
import { type AddressInfo, connect, type Socket } from 'node:net';
import type pg from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { TcpProxy } from '../support/faults/proxies.ts';
import { type Query, Workload, type WorkloadOptions } from '../support/faults/workload.ts';
import { assertInvariants } from '../support/invariants.ts';
import { startServer } from '../support/process.ts';
import { cmd } from '../support/step-table.ts';
import { copyPgliteTemplate, createTestDatabase, lockWait, openPool } from '../support/test-database.ts';
import { freshTenant, type Service, startService } from '../support/test-service.ts';

/** An upper bound for requests that hang, not a measurement. */
const STUCK_MS = 60_000;
const OFTEN = { RATE_LIMIT_PER_MINUTE: '0' };

function workloadOn(url: () => string, options: Partial<WorkloadOptions> = {}): Workload {
  const tenants = [freshTenant('faults'), freshTenant('faults')];
  return new Workload({ url, tenants, clientsPerTenant: 2, limitMs: STUCK_MS, ...options });
}

/** Checks that the database matches the ledger and the invariants. */
async function check(query: Query, workload: Workload): Promise<void> {
  expect(await workload.verify(query)).toStrictEqual({
    acknowledged: workload.acknowledged,
    lost: [],
    doubled: [],
    wrong: [],
  });
  // assertInvariants only uses the service's `query`.
  await assertInvariants({ query } as Pick<Service, 'query'> as Service);
}

describe('the service on Postgres', () => {
  let database: Awaited<ReturnType<typeof createTestDatabase>>;
  let pool: pg.Pool;
  const query: Query = async (sql, parameters) => (await pool.query(sql, parameters)).rows;
  beforeAll(async () => {
    database = await createTestDatabase();
    pool = openPool(database.url, { max: 2 });
  });
  afterAll(async () => {
    await pool.end();
    await database.drop();
  });

  it('neither loses nor repeats a write when the service is killed', { tags: 'long' }, async () => {
    let server = await startServer({ DATABASE_URL: database.url, ...OFTEN });
    for (let kill = 0; kill < 2; kill++) {
      const workload = workloadOn(() => server.url, { mayBreak: true });
      workload.start();
      await workload.acknowledge(10 + Math.floor(Math.random() * 30));
      server.child.kill('SIGKILL');
      await server.exit;
      server = await startServer({ DATABASE_URL: database.url, ...OFTEN });
      await workload.acknowledge(10);
      await workload.stop();
      await check(query, workload);
    }
    server.child.kill('SIGTERM');
    expect(await server.exit).toBe(0);
  });

  it('responds with 503 while the database rejects connections, and recovers without a restart', async () => {
    const { hostname, port } = new URL(database.url);
    const proxy = new TcpProxy({ host: hostname, port: Number(port) });
    await proxy.open();
    const through = new URL(database.url);
    through.host = `127.0.0.1:${proxy.port}`;
    const service = await startService('postgres', {
      DATABASE_URL: through.href,
      ...OFTEN,
      DB_POOL_MAX: '3',
    });
    const url = await service.app.listen({ host: '127.0.0.1', port: 0 });
    const get = async (path: string) => (await fetch(url + path)).status;
    const workload = workloadOn(() => url);
    workload.start();
    for (let round = 0; round < 5; round++) {
      await workload.acknowledge(10);
      await pool.query(
        `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'memory-service' AND datname = current_database()`,
      );
    }
    for (let round = 0; round < 2; round++) {
      await workload.acknowledge(10);
      await proxy.reject();
      while ((await get('/readyz')) !== 503);
      expect(await get('/healthz')).toBe(200);
      while (!workload.statuses.has('503')) await get('/healthz');
      await proxy.open();
      while ((await get('/readyz')) !== 200);
    }
    await workload.acknowledge(10);
    await workload.stop();
    await check(query, workload);
    // DB_POOL_MAX plus four for batches. The pool does not count lost connections forever.
    expect(service.database.pool().total).toBeLessThanOrEqual(3 + 4);
    expect(await (await fetch(`${url}/metrics`)).text()).toMatch(/^memory_requests_in_flight 0$/m);
    await service.close();
    await proxy.reject();
  });
});

it('neither loses nor repeats a write when the service on PGlite is killed', {
  tags: 'long',
}, async () => {
  const directory = await copyPgliteTemplate();
  let server = await startServer({ DATA_DIR: directory, ...OFTEN });
  const workload = workloadOn(() => server.url, { mayBreak: true });
  workload.start();
  await workload.acknowledge(5 + Math.floor(Math.random() * 15));
  server.child.kill('SIGKILL');
  await server.exit;
  server = await startServer({ DATA_DIR: directory, ...OFTEN });
  await workload.acknowledge(5);
  await workload.stop();
  server.child.kill('SIGKILL');
  await server.exit;
  const service = await startService('pglite', { DATA_DIR: directory });
  await check(service.query, workload);
  await service.close();
  await rm(directory, { recursive: true });
});

describe('slow and broken clients', () => {
  let database: Awaited<ReturnType<typeof createTestDatabase>>;
  let service: Service;
  let port: number;
  beforeAll(async () => {
    database = await createTestDatabase();
    service = await startService('postgres', {
      DATABASE_URL: database.url,
      REQUEST_TIMEOUT_MS: '200',
      DB_POOL_MAX: '3',
      RATE_LIMIT_PER_MINUTE: '0',
    });
    await service.app.listen({ host: '127.0.0.1', port: 0 });
    port = (service.app.server.address() as AddressInfo).port;
  });
  afterAll(async () => {
    await service.close();
    await database.drop();
  });

  /** Opens a connection. `all` resolves with all received data when the service closes the connection. */
  async function open(options: { allowHalfOpen?: boolean } = {}): Promise<Socket & { all: Promise<string> }> {
    const socket = connect({ port, host: '127.0.0.1', ...options });
    let text = '';
    socket.setEncoding('utf8').on('data', (chunk) => {
      text += chunk;
    });
    const all = new Promise<string>((resolve) => {
      socket.on('error', () => {});
      socket.once('end', () => resolve(text)).once('close', () => resolve(text));
    });
    await once(socket, 'connect');
    return Object.assign(socket, { all });
  }

  function http(input: object, headers: Record<string, string> = {}): string {
    const body = JSON.stringify(input);
    const lines = {
      Host: 'localhost',
      'Content-Type': 'application/json',
      'Content-Length': String(body.length),
      ...headers,
    };
    const head = Object.entries(lines).map(([name, value]) => `${name}: ${value}\r\n`);
    return `POST /execute HTTP/1.1\r\n${head.join('')}\r\n${body}`;
  }
  const block = (id: string, input: object) => ({ type: 'tool_use', id, name: 'memory', input });
  const bytesInFlight = async () => {
    const metrics = await (await fetch(`http://127.0.0.1:${port}/metrics`)).text();
    // Includes requests whose body is still being read.
    return Number(/^memory_bytes_in_flight (\d+)$/m.exec(metrics)?.[1]);
  };
  const waitUntilIdle = async () => {
    while ((await bytesInFlight()) > 0);
  };

  it('rejects slow headers and bodies with 408, and releases the reserved bytes', async () => {
    const slowHeader = await open();
    slowHeader.write('POST /execute HTTP/1.1\r\nHost: localhost\r\nX-Slow: ');
    const slowBody = await open();
    slowBody.write(http(cmd.create('/memories/slow', 'x')).slice(0, -5));
    while ((await bytesInFlight()) === 0);
    expect(await slowHeader.all).toMatch(/^HTTP\/1.1 408 /);
    expect(await slowBody.all).toMatch(/^HTTP\/1.1 408 /);
    await waitUntilIdle();
  });

  it('changes no file if the upload is aborted, and releases the reserved bytes', async () => {
    const tenant = freshTenant();
    const text = http(cmd.create('/memories/aborted', 'x'.repeat(50_000)), { 'X-Tenant-Id': tenant });
    for (const length of [200, 30_000, text.length - 1]) {
      const socket = await open();
      socket.write(text.slice(0, length));
      while ((await bytesInFlight()) === 0);
      socket.resetAndDestroy();
      await waitUntilIdle();
    }
    expect((await service.execute(cmd.view('/memories/aborted'), { tenant })).is_error).toBe(true);
  });

  it('responds to a client that half-closes its connection after the request', async () => {
    const tenant = freshTenant();
    const socket = await open({ allowHalfOpen: true });
    const input = block('toolu_half', cmd.create('/memories/half', 'whole'));
    socket.end(http(input, { 'X-Tenant-Id': tenant }));
    const [head = '', body = ''] = (await socket.all).split('\r\n\r\n');
    expect(head.split('\r\n')[0]).toBe('HTTP/1.1 200 OK');
    expect(JSON.parse(body)).toStrictEqual({
      type: 'tool_result',
      tool_use_id: 'toolu_half',
      content: 'File created successfully at: /memories/half',
      is_error: false,
    });
    const { content } = await service.execute(cmd.view('/memories/half'), { tenant });
    expect(content.split('\n')[1]).toBe('     1\twhole');
  });

  it('changes no file when a client half-closes its connection during the request', async () => {
    const tenant = freshTenant();
    const socket = await open({ allowHalfOpen: true });
    const whole = http(cmd.create('/memories/half', 'whole'), { 'X-Tenant-Id': tenant });
    socket.end(whole.slice(0, -5));
    expect((await socket.all).split('\r\n')[0]).toMatch(/^(HTTP\/1\.1 400 Bad Request)?$/);
    await waitUntilIdle();
    expect((await service.execute(cmd.view('/memories/half'), { tenant })).content).toBe(
      'The path /memories/half does not exist. Please provide a valid path.',
    );
  });

  it('responds to pipelined requests in order', async () => {
    const tenant = { 'X-Tenant-Id': freshTenant() };
    const socket = await open();
    const paths = ['one', 'two', 'three', 'four'].map((name) => `/memories/${name}`);
    socket.write(paths.map((path) => http(cmd.create(path, 'x'), tenant)).join(''));
    socket.write(http(cmd.view('/memories/none'), { ...tenant, Connection: 'close' }));
    const answers = (await socket.all).match(/\{"content":.*?"is_error":\w+\}/g) ?? [];
    expect(answers.map((answer) => JSON.parse(answer).content)).toStrictEqual([
      ...paths.map((path) => `File created successfully at: ${path}`),
      'The path /memories/none does not exist. Please provide a valid path.',
    ]);
  });

  it('completes a write after the client disconnects, and replays the result to a retry', async () => {
    const tenant = freshTenant();
    await service.execute(cmd.create('/memories/log', ''), { tenant });
    await service.query('BEGIN');
    await service.query('SELECT 1 FROM tenants WHERE id = $1 FOR UPDATE', [tenant]);
    const input = block('toolu_gone', cmd.insert('/memories/log', 0, 'line'));
    const socket = await open();
    socket.write(http(input, { 'X-Tenant-Id': tenant }));
    while ((await bytesInFlight()) === 0);
    await lockWait(database.url);
    socket.resetAndDestroy();
    const retry = service.execute(input, { tenant });
    await service.query('COMMIT');
    const answer = await retry;
    expect([answer.content, answer.headers['idempotency-replayed']]).toStrictEqual([
      'The file /memories/log has been edited.',
      'true',
    ]);
    const { content } = await service.execute(cmd.view('/memories/log'), { tenant });
    expect(content.match(/line$/gm)).toHaveLength(1);
    await waitUntilIdle();
  });

  it('responds to new requests while 2,000 connections are idle', { tags: 'long' }, async () => {
    const sockets: Socket[] = [];
    while (sockets.length < 2000)
      sockets.push(...(await Promise.all(Array.from({ length: 200 }, () => open()))));
    const answer = await service.execute(cmd.view('/memories'), { tenant: freshTenant() });
    expect(answer.status).toBe(200);
    const socket = await open();
    socket.write(http(cmd.view('/memories'), { Connection: 'close' }));
    expect(await socket.all).toMatch(/^HTTP\/1.1 200 /);
    for (const idle of sockets) idle.destroy();
  });
});
