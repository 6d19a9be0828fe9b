/** A client without a credential sends thousands of requests with bodies on kept connections. */
import { once } from 'node:events';
import { connect } from 'node:net';
import { freePort } from '../../support/faults/postgres-server.ts';
import { Replica } from '../../support/faults/replica.ts';
import { residentMiB } from '../clients.ts';
import { createDatabase, type Environment } from '../environment.ts';
import { Row } from '../fault-report.ts';

const CONNECTIONS = 8;
/** Below the maximum for pipelined requests per connection. */
const MAX_CONCURRENT = 4;
const STATUS_LINE = 'HTTP/1.1 404 ';
/** Maximum growth of the process after half the requests, as garbage that is not collected yet. */
const MAX_GROWTH_MIB = 64;

export async function rejectedRequests({ postgres, option }: Environment): Promise<Row> {
  const onOneConnection = option('REJECTED_REQUESTS', 13_001);
  const onSeveral = option('REJECTED_REQUESTS_OF_SEVERAL', 60_000);
  const row = new Row('rejected requests on kept connections');
  const adminPort = await freePort();
  const replica = await Replica.create({
    DATABASE_URL: postgres.url(postgres.port, await createDatabase(postgres)),
    AUTH: 'keys',
    ADMIN_PORT: String(adminPort),
    LOG_LEVEL: 'silent',
  });
  await replica.start();
  const adminUrl = `http://127.0.0.1:${adminPort}`;
  const targets: [status: number, url: string, path: string][] = [
    [404, replica.url, '/x'],
    [401, replica.url, '/execute'],
    [401, replica.url, '/v1/memory_stores'],
    [404, adminUrl, '/x'],
    [401, adminUrl, '/v1/tenants'],
  ];
  for (const [status, url, path] of targets) {
    const rejected = await sendRejected(url, path, onOneConnection, status);
    row.expect(rejected === onOneConnection, `POST ${path}: ${rejected} of ${onOneConnection} got ${status}`);
    row.expect((await replica.status('/healthz')) === 200, `the service ended after POST ${path}`);
    row.times += rejected;
  }
  const half = Math.ceil(onSeveral / 2 / CONNECTIONS);
  const send = () =>
    Promise.all(Array.from({ length: CONNECTIONS }, () => sendRejected(replica.url, '/x', half, 404)));
  await send();
  const before = residentMiB(replica.pid);
  await send();
  const after = residentMiB(replica.pid);
  row.times += 2 * half * CONNECTIONS;
  row.notes.push(`RSS ${before} MiB, then ${after} MiB after as many requests on ${CONNECTIONS} connections`);
  row.expect(after - before <= MAX_GROWTH_MIB, `the process grew from ${before} to ${after} MiB`);
  await replica.end();
  return row;
}

/**
 * Sends requests with two-byte bodies on one connection, the last one with `Connection: close`.
 *
 * @returns the number of responses with the status
 */
async function sendRejected(url: string, path: string, count: number, status: number): Promise<number> {
  const { hostname, port } = new URL(url);
  const socket = connect(Number(port), hostname).on('error', () => {});
  const head = `POST ${path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n`;
  const request = `${head}Content-Length: 2\r\n\r\n{}`;
  const final = `${head}Connection: close\r\nContent-Length: 2\r\n\r\n{}`;
  let sent = 0;
  let rejected = 0;
  let text = '';
  const send = (n: number) => {
    for (let i = 0; i < n && sent < count; i++) socket.write(++sent === count ? final : request);
  };
  socket.setEncoding('latin1').on('data', (chunk) => {
    const responses = [...(text + chunk).matchAll(/HTTP\/1\.1 (\d{3}) /g)];
    // A status line may be split over two chunks.
    const last = responses.at(-1);
    text = (text + chunk)
      .slice(last === undefined ? 0 : last.index + STATUS_LINE.length)
      .slice(-STATUS_LINE.length);
    rejected += responses.filter(([, each]) => Number(each) === status).length;
    send(responses.length);
  });
  send(MAX_CONCURRENT);
  await once(socket, 'close');
  return rejected;
}
