import { once } from 'node:events';
import { get, type IncomingMessage } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import fastify from 'fastify';
import { afterEach, describe, expect, it } from 'vitest';
import { accessLog, disconnectSignal } from './access-log.ts';
import { slowClients } from './slow-clients.ts';

let app = fastify();
afterEach(async () => {
  await app.close();
  app = fastify();
});

it('adds no listeners to a reused connection if requests on it are rejected before their bodies are read', async () => {
  const sockets = new Set<Socket>();
  const states: unknown[] = [];
  await app.register(accessLog);
  await app.register(slowClients, { timeoutMs: 5000 });
  app.addHook('onRequest', async (request, reply) => {
    const { socket } = request.raw;
    sockets.add(socket);
    const listeners = Object.fromEntries(
      socket.eventNames().map((name) => [name, socket.listenerCount(name)]),
    );
    states.push({ close: socket.destroySoon, properties: Object.keys(socket).length, listeners });
    disconnectSignal(request, reply);
    // After the response is closed, work for the request may continue and read the signal.
    reply.raw.once('close', () => disconnectSignal(request, reply));
    return reply.code(401).send({});
  });
  app.post('/', () => {});
  await app.listen({ host: '127.0.0.1', port: 0 });

  const client = connect((app.server.address() as AddressInfo).port, '127.0.0.1');
  const request = (connection: string) =>
    `POST / HTTP/1.1\r\nHost: localhost\r\nConnection: ${connection}\r\nContent-Length: 2\r\n\r\n{}`;
  let responses = 0;
  client.on('data', (data) => {
    responses += data.toString().split('HTTP/1.1 401').length - 1;
    if (responses < 100) client.write(request('keep-alive'));
    else if (responses === 100) client.write(request('close'));
  });
  client.write(request('keep-alive'));
  await once(client, 'close');

  expect([responses, sockets.size, states.length]).toStrictEqual([101, 1, 101]);
  // The first response installs the handler that delays the close, so later responses are compared with the second.
  for (const state of states.slice(2)) expect(state).toStrictEqual(states[1]);
});

describe('32 MiB response', () => {
  const LENGTH = 32 * 1024 * 1024;

  /**
   * Reads until the service closes the connection, and calls `next` after each chunk. Returns the body bytes that
   * arrive.
   */
  async function read(timeoutMs: number, next: (resume: () => void) => void): Promise<number> {
    await app.register(accessLog);
    await app.register(slowClients, { timeoutMs });
    app.get('/', () => 'é'.repeat(LENGTH / 2));
    const connection = once(app.server, 'connection') as Promise<[Socket]>;
    const sent = get(await app.listen({ host: '127.0.0.1', port: 0 }), { agent: false });
    const [socket] = await connection;
    const closed = new Promise((resolve) => socket.once('close', resolve));
    const [response] = (await once(sent, 'response')) as [IncomingMessage];
    expect(response.headers['content-length']).toBe(String(LENGTH));
    let bytes = 0;
    let isClosed = false;
    response.on('error', () => {});
    response.on('data', (chunk: Buffer) => {
      bytes += chunk.length;
      if (isClosed) return;
      response.pause();
      next(() => response.resume());
    });
    await closed;
    isClosed = true;
    const ended = new Promise((resolve) => response.once('close', resolve));
    response.resume();
    if (!response.closed) await ended;
    return bytes;
  }

  it('sends a 32 MiB response completely in parts', async () => {
    expect(await read(5000, setImmediate)).toBe(LENGTH);
  });

  it('cuts off a response if the client reads each part in time but is too slow overall', async () => {
    expect(await read(20, (resume) => setTimeout(resume, 10))).toBeLessThan(LENGTH);
  });

  it('cuts off a response if the client stops reading', async () => {
    expect(await read(20, () => {})).toBeLessThan(LENGTH);
  });
});
