import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { Readable } from 'node:stream';
import { pino } from 'pino';
import { expect, it } from 'vitest';
import { loadConfig } from '../config.ts';
import { accessLog, disconnectSignal } from './access-log.ts';
import { connections, MAX_PIPELINED } from './connections.ts';
import { createHttpServer } from './http-server.ts';
import { requestTracing, type Tracing } from './tracing.ts';

async function listen(before: (socket: Socket) => void = () => {}) {
  const lines: Record<string, unknown>[] = [];
  const log = pino(
    { formatters: { level: (label) => ({ level: label }) } },
    { write: (line: string) => void lines.push(JSON.parse(line)) },
  );
  const app = createHttpServer(loadConfig({ AUTH: 'none' }), { log, requestTimeoutMs: 0 });
  app.addHook('onRequest', async ({ raw }) => before(raw.socket));
  await app.register(accessLog);
  await app.register(connections);
  return { app, lines };
}

it('logs status 499 if the client disconnects before it gets the response', async () => {
  const { app, lines } = await listen();
  let respond = (_: string) => {};
  const response = new Promise<string>((resolve) => {
    respond = resolve;
  });
  let begin = () => {};
  const begun = new Promise<void>((resolve) => {
    begin = resolve;
  });
  app.get('/', async (request) => {
    request.logEntry.tenant = 'acme';
    begin();
    return response;
  });
  const { port } = new URL(await app.listen({ host: '127.0.0.1', port: 0 }));
  const client = connect(Number(port), '127.0.0.1');
  client.write('GET / HTTP/1.1\r\nHost: localhost\r\n\r\n');
  await begun;
  client.resetAndDestroy();
  const logged = () => lines.filter(({ msg }) => msg === 'request');
  await expect
    .poll(logged)
    .toMatchObject([{ level: 'info', status: 499, outcome: 'client_gone', tenant: 'acme' }]);
  respond('too late');
  await app.close();
  expect(logged()).toHaveLength(1);
});

it('logs no error when the client disconnects before a streamed response begins', async () => {
  const { app, lines } = await listen();
  let leave = () => {};
  const left = new Promise<void>((resolve) => {
    leave = resolve;
  });
  const parts = new Readable({ read: () => {} });
  app.post('/', async (_request, reply) => {
    leave();
    await once(reply.raw, 'close');
    return reply.send(parts);
  });
  const { port } = new URL(await app.listen({ host: '127.0.0.1', port: 0 }));
  const client = connect(Number(port), '127.0.0.1');
  client.write(
    'POST / HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}',
  );
  await left;
  client.resetAndDestroy();
  await once(parts, 'close');
  await app.close();
  expect(lines.filter(({ level }) => level !== 'info')).toStrictEqual([]);
  expect(lines.filter(({ msg }) => msg === 'request')).toMatchObject([{ status: 499 }]);
});

it('rejects a request whose connection was reset before its address was read', async () => {
  const { app } = await listen((socket) =>
    Object.defineProperty(socket, 'remoteAddress', { value: undefined }),
  );
  app.get('/', async () => 'done without an address');
  const { statusCode, body } = await app.inject('/');
  expect([statusCode, JSON.parse(body).code]).toStrictEqual([499, 'client_gone']);
  await app.close();
});

it("ends a request's trace when its client resets the connection", async () => {
  const { app } = await listen();
  const ended: object[] = [];
  const trace = {
    traceId: 'a',
    runWithin: (work: () => void) => work(),
    end: (how: object) => ended.push(how),
  };
  await app.register(requestTracing, { tracing: { startRequest: () => trace } as unknown as Tracing });
  let begin = () => {};
  const begun = new Promise<void>((resolve) => {
    begin = resolve;
  });
  let respond = (_: string) => {};
  app.get('/', () => {
    begin();
    return new Promise<string>((resolve) => {
      respond = resolve;
    });
  });
  const { port } = new URL(await app.listen({ host: '127.0.0.1', port: 0 }));
  const client = connect(Number(port), '127.0.0.1');
  client.write('GET / HTTP/1.1\r\nHost: localhost\r\n\r\n');
  await begun;
  client.resetAndDestroy();
  await expect.poll(() => ended).toStrictEqual([{ status: 499, outcome: 'client_gone', tenant: undefined }]);
  respond('too late');
  await app.close();
  expect(ended).toHaveLength(1);
});

it('watches pipelined requests with one listener, and aborts each when the client leaves', async () => {
  const { app } = await listen();
  const signals: AbortSignal[] = [];
  const listeners: number[] = [];
  app.get('/', (request, reply) => {
    const signal = disconnectSignal(request, reply);
    signals.push(signal, disconnectSignal(request, reply));
    listeners.push(request.raw.socket.listenerCount('end'));
    return once(signal, 'abort').then(() => 'too late');
  });
  const { port } = new URL(await app.listen({ host: '127.0.0.1', port: 0 }));
  const client = connect(Number(port), '127.0.0.1');
  client.write('GET / HTTP/1.1\r\nHost: localhost\r\n\r\n'.repeat(MAX_PIPELINED));
  await expect.poll(() => listeners).toHaveLength(MAX_PIPELINED);
  expect(new Set(listeners).size).toBe(1);
  expect(signals.some(({ aborted }) => aborted)).toBe(false);
  client.end();
  await once(client.resume(), 'close');
  expect(signals.every(({ aborted }) => aborted)).toBe(true);
  await app.close();
});
