import { createServer, type RequestListener, type Server } from 'node:http';
import { type AddressInfo, createServer as createTcpServer, type Server as TcpServer } from 'node:net';
import { afterAll, expect, it } from 'vitest';
import { listMounts } from '../admin/mount-operations.ts';
import { remoteCaller } from './caller.ts';
import { request } from './http-client.ts';

const servers: (Server | TcpServer)[] = [];
afterAll(() => {
  for (const server of servers) server.close();
});

async function listen(server: Server | TcpServer): Promise<URL> {
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return new URL(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
}
const serve = (listener: RequestListener) => listen(createServer(listener));

const call = async (url: URL) =>
  (await remoteCaller({ url, key: 'msk_1' })()).call(listMounts, { params: { tenant: 'acme' } });

it('withholds the key from a host named by a redirect', async () => {
  let redirected = 0;
  const other = await serve((_request, response) => {
    redirected++;
    response.end('{}');
  });
  const url = await serve((_request, response) => {
    response.writeHead(307, { location: `${other.origin}/v1/tenants/acme/mounts` }).end();
  });
  await expect(call(url)).rejects.toThrow(
    `${url.origin} responded with a redirect to ${other.origin}/v1/tenants/acme/mounts: it may not be an admin API.`,
  );
  expect(redirected).toBe(0);
});

it('explains that the port does not use TLS or that the connection was lost', async () => {
  const plain = await serve((_request, response) => response.end('{}'));
  await expect(call(new URL(plain.href.replace('http:', 'https:')))).rejects.toThrow(
    `The admin API at https://${plain.host} cannot be reached: it does not use TLS at this port. Use the port with TLS.`,
  );
  const silent = await listen(createTcpServer((socket) => socket.destroy()));
  await expect(call(silent)).rejects.toThrow(
    `The admin API at ${silent.origin} cannot be reached: ECONNRESET.`,
  );
  const cut = await serve((_request, response) => {
    response.writeHead(200, { 'content-length': 100 });
    response.write('{', () => response.destroy());
  });
  await expect(call(cut)).rejects.toThrow(
    `The connection to the admin API at ${cut.origin} was lost during the response.`,
  );
});

it('returns a response that arrives during an upload, and fails if the uploaded data cannot be read', async () => {
  const url = await serve((_request, response) => response.writeHead(404).end('{"detail": "No."}'));
  async function* endless() {
    for (;;) yield Buffer.alloc(64 * 1024);
  }
  const response = await request(url, { method: 'POST', headers: {}, body: endless() });
  expect([response.status, await response.text()]).toStrictEqual([404, '{"detail": "No."}']);
  async function* failing() {
    yield Buffer.alloc(10);
    throw new Error('The file has ended early.');
  }
  const reading = await serve((incoming) => incoming.resume());
  await expect(request(reading, { method: 'POST', headers: {}, body: failing() })).rejects.toThrow(
    'The file has ended early.',
  );
});
