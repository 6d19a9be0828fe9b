/** Server-sent events over sockets, from routes behind the core's plugins. */
import { once } from 'node:events';
import { get, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { FastifyInstance } from 'fastify';
import { pino } from 'pino';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { loadConfig } from '../../src/core/config.ts';
import { ServiceError } from '../../src/core/errors/errors.ts';
import { accessLog } from '../../src/core/http/access-log.ts';
import { streamEvents } from '../../src/core/http/event-stream.ts';
import { createHttpServer } from '../../src/core/http/http-server.ts';
import { slowClients } from '../../src/core/http/slow-clients.ts';
import { openStreams, type StreamCallers, streams } from '../../src/core/http/streams.ts';
import type { EventStream } from '../../src/core/lib/server-sent-events.ts';

/** For tests of slow clients. In other tests, a client may pause as long as a busy machine makes it. */
const SHORT_TIMEOUT_MS = 300;
const LONG_TIMEOUT_MS = 600_000;

let app: FastifyInstance;
let log: Record<string, unknown>[] = [];
let verify: StreamCallers['verify'];
/** The work for the next stream. */
let work: (stream: EventStream) => Promise<void>;
/** The reason for which a stream ended. */
let ended: Promise<unknown>;
let noteEnd: (reason: unknown) => void;

/** Waits until the stream ends, and keeps the reason for the test. */
const waitForEnd = async ({ signal }: EventStream) => {
  if (!signal.aborted) await once(signal, 'abort');
  noteEnd(signal.reason);
};

beforeEach(() => start(LONG_TIMEOUT_MS));
afterEach(() => app.close());

async function start(timeoutMs: number): Promise<void> {
  ended = new Promise((resolve) => {
    noteEnd = resolve;
  });
  verify = async () => ({});
  work = waitForEnd;
  const config = loadConfig({
    AUTH: 'none',
    MAX_STREAMS: '3',
    MAX_STREAMS_PER_TENANT: '2',
    AUTH_CACHE_SECONDS: '1',
  });
  const lines = { write: (line: string) => void log.push(JSON.parse(line)) };
  app = createHttpServer(config, { log: pino({ level: 'debug' }, lines), requestTimeoutMs: 0 });
  await app.register(accessLog);
  await app.register(slowClients, { timeoutMs });
  const callers: StreamCallers = {
    countedAs: ({ headers }) => String(headers['x-tenant-id']),
    verify: (request) => verify(request),
  };
  await app.register(streams, { config, callers });
  app.get('/', (request, reply) => streamEvents(request, reply, (stream) => work(stream)));
  app.get('/lively', (request, reply) =>
    streamEvents(request, reply, (stream) => work(stream), { heartbeatMs: 50 }),
  );
  await app.listen({ host: '127.0.0.1', port: 0 });
  log = [];
}

async function restart(timeoutMs: number): Promise<void> {
  await app.close();
  await start(timeoutMs);
}

/** Opens a stream. The caller reads the response. */
async function open(path = '/', tenant = 'acme'): Promise<IncomingMessage> {
  const { port } = app.server.address() as AddressInfo;
  const headers = { 'x-tenant-id': tenant, 'x-request-id': 'req' };
  const request = get({ port, path, headers, agent: false });
  request.on('error', () => {});
  const [response] = (await once(request, 'response')) as [IncomingMessage];
  return response.setEncoding('utf8').on('error', () => {});
}

/** Reads until the stream contains `part`, or until its end. Delays before a new connection become `N`. */
async function readUntil(response: IncomingMessage, part?: string): Promise<string> {
  let read = '';
  for await (const chunk of response.iterator({ destroyOnReturn: false })) {
    read += chunk;
    if (part !== undefined && read.includes(part)) break;
  }
  return read.replace(/^retry: [1-5]\d{3}$/gm, 'retry: N');
}

const problem = (status: number, title: string, code: string, detail: string) =>
  `retry: N\n\nevent: problem\ndata: ${JSON.stringify({ type: 'about:blank', title, status, code, detail, request_id: 'req' })}\n\n`;

it('sends events with their IDs and types, and a line for each line of the data', async () => {
  work = async (stream) => {
    await stream.send({ id: '1', event: 'change', data: '{"a":1}' });
    await stream.send({ data: 'one\ntwo\r\nthree\r' });
  };
  const response = await open();
  expect([response.statusCode, response.headers]).toMatchObject([
    200,
    {
      'content-type': 'text/event-stream',
      'cache-control': 'no-store',
      'x-accel-buffering': 'no',
      connection: 'close',
    },
  ]);
  expect(await readUntil(response)).toBe(
    'retry: N\n\nid: 1\nevent: change\ndata: {"a":1}\n\ndata: one\ndata: two\ndata: three\ndata: \n\n',
  );
});

it('sends comments on an idle stream, and keeps it open longer than the transfer timeout', async () => {
  await restart(SHORT_TIMEOUT_MS);
  const response = await open('/lively');
  const comments = Math.ceil((2 * SHORT_TIMEOUT_MS) / 50);
  expect(await readUntil(response, ':\n\n'.repeat(comments))).toContain('retry: N\n\n:\n\n');
  response.destroy();
  expect(await ended).toMatchObject({ code: 'client_gone' });
});

it('waits for a client that does not read, and disconnects only that client', async () => {
  await restart(SHORT_TIMEOUT_MS);
  let sent = 0;
  work = async (stream) => {
    try {
      for (;;) {
        await stream.send({ data: 'x'.repeat(1024) });
        sent++;
      }
    } catch (error) {
      noteEnd(error);
    }
  };
  const stalled = await open();
  stalled.pause();
  work = waitForEnd;
  const idle = await open();
  expect(await ended).toMatchObject({ code: 'client_gone' });
  expect(sent).toBeLessThan(32 * 1024);
  expect(idle.readable).toBe(true);
  stalled.destroy();
});

it('continues after a client has caught up', async () => {
  const EVENTS = 20_000;
  const line = 'x'.repeat(1000);
  work = async (stream) => {
    for (let i = 0; i < EVENTS; i++) await stream.send({ id: String(i), data: line });
  };
  const text = await readUntil(await open());
  expect([...text.matchAll(/^id: (\d+)$/gm)].map(([, id]) => Number(id))).toStrictEqual(
    Array.from({ length: EVENTS }, (_, i) => i),
  );
});

it('ends the work for HEAD after the response headers', async () => {
  const { port } = app.server.address() as AddressInfo;
  const { status, headers } = await fetch(`http://127.0.0.1:${port}/`, { method: 'HEAD' });
  expect([status, headers.get('content-type')]).toStrictEqual([200, 'text/event-stream']);
  expect(await ended).toMatchObject({ code: 'client_gone' });
});

it('ends the work when the client disconnects', async () => {
  const response = await open();
  response.destroy();
  expect(await ended).toMatchObject({ code: 'client_gone' });
  await expect.poll(() => log).toMatchObject([{ status: 200, outcome: 'client_gone' }]);
});

it("sends a problem as the last event if the caller's credential was revoked", async () => {
  verify = async () => {
    throw new ServiceError('unauthorized');
  };
  work = async (stream) => {
    await waitForEnd(stream);
    await stream.send({ data: 'late' }).catch((error) => noteEnd(error));
  };
  expect(await readUntil(await open())).toBe(
    'retry: N\n\n' +
      problem(
        401,
        'Unauthorized',
        'unauthorized',
        'A valid credential is required: send Authorization: Bearer with an API key or token of this service.',
      ),
  );
  expect(await ended).toMatchObject({ code: 'unauthorized' });
  await expect.poll(() => log).toMatchObject([{ status: 200, outcome: 'unauthorized' }]);
});

it('keeps a stream while the credential cannot be looked up, but not after its expiry', async () => {
  let lookups = 0;
  verify = async () => {
    lookups++;
    if (lookups === 1) return { readAt: 0, expiresAt: performance.now() + 600 };
    throw new ServiceError('database_unavailable');
  };
  expect(await readUntil(await open())).toContain('"code":"unauthorized"');
  expect(lookups).toBeGreaterThan(1);
});

it('verifies a caller again when the cached lookup expires', async () => {
  let lookups = 0;
  verify = async () => {
    lookups++;
    if (lookups === 3) throw new ServiceError('access_changed');
    return { readAt: performance.now() - 900 };
  };
  expect(await readUntil(await open())).toContain('"code":"access_changed"');
});

it('sends the error of failed work as the last event, without its message', async () => {
  work = async () => {
    throw new Error('secret');
  };
  expect(await readUntil(await open())).toBe(
    `retry: N\n\n${problem(500, 'Internal Server Error', 'internal_error', 'The service failed to handle the request.')}`,
  );
  await expect
    .poll(() => log)
    .toMatchObject([
      { msg: 'request failed', code: 'internal_error' },
      { status: 200, outcome: 'internal_error' },
    ]);
  expect(JSON.stringify(log)).not.toContain('secret');
});

it('ends all streams when the service stops, and waits for their work', async () => {
  const finished: string[] = [];
  let release = () => {};
  const released = new Promise<void>((resolve) => {
    release = resolve;
  });
  work = async (stream) => {
    await waitForEnd(stream);
    await released;
    finished.push('work');
  };
  const response = await open();
  const closing = app.close().then(() => finished.push('app'));
  expect(await readUntil(response)).toBe(
    `retry: N\n\n${problem(503, 'Service Unavailable', 'shutting_down', 'The service is shutting down.')}`,
  );
  release();
  await closing;
  expect(finished).toStrictEqual(['work', 'app']);
});

it('does not wait for a client that does not read when the service stops', async () => {
  work = async (stream) => {
    while (!stream.signal.aborted) await stream.send({ data: 'x'.repeat(1024) }).catch(noteEnd);
  };
  const connection = once(app.server, 'connection');
  const stalled = await open();
  stalled.pause();
  const [socket] = await connection;
  await expect.poll(() => socket.writableNeedDrain).toBe(true);
  await app.close();
  expect(await ended).toMatchObject({ code: 'shutting_down' });
  stalled.destroy();
});

it('rejects streams beyond the limits of a tenant and of the replica, until another ends', async () => {
  const [first] = [await open(), await open()];
  const rejected = await open();
  expect([
    rejected.statusCode,
    rejected.headers['retry-after'],
    JSON.parse(await readUntil(rejected)),
  ]).toMatchObject([429, '5', { code: 'too_many_streams' }]);
  await open('/', 'other');
  const full = await open('/', 'other');
  expect(openStreams()).toBe(3);
  expect([full.statusCode, JSON.parse(await readUntil(full))]).toMatchObject([503, { code: 'streams_full' }]);
  first?.destroy();
  await ended;
  expect((await open()).statusCode).toBe(200);
});
