/** A read-only key requests the longest responses over connections that never read. */
import { connect, type Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import pg from 'pg';
import { newApiKey } from '../../../src/core/tenants/keys.ts';
import { freePort } from '../../support/faults/postgres-server.ts';
import { Replica } from '../../support/faults/replica.ts';
import { cmd } from '../../support/step-table.ts';
import { residentMiB } from '../clients.ts';
import { createDatabase, type Environment } from '../environment.ts';
import { Row } from '../fault-report.ts';

const CONNECTIONS = 32;
/** Number of requests that a connection sends without reading. */
const PIPELINED = 4;
const FILES = 5;
const MIB = 1024 * 1024;
const EVERY_MS = 50;
/** With 128 MiB, the default for `MAX_IN_FLIGHT_BYTES`. */
const MAX_RESIDENT_MIB = 900;
const QUIET = 'quiet';
/** Character in all the tenant's files: six and two bytes in JSON. */
const ATTACKERS = { control: '\u0001', quotes: '"' };

export async function unreadResponses({ postgres, option }: Environment): Promise<Row> {
  const seconds = option('UNREAD_SECONDS', 20, 4);
  const row = new Row('unread responses');
  const adminPort = await freePort();
  const database = postgres.url(postgres.port, await createDatabase(postgres));
  const replica = await Replica.create({
    DATABASE_URL: database,
    AUTH: 'keys',
    ADMIN_PORT: String(adminPort),
  });
  await replica.start();
  const keys = await makeKeys(database);
  const quiet = (path: string, input: object) => send(replica.url, path, keys.quiet, input);
  await quiet('/execute', cmd.create('/memories/f', 'x'));
  for (const [tenant, character] of Object.entries(ATTACKERS)) {
    const key = keys[tenant] ?? '';
    for (let i = 0; i < FILES; i++) {
      const file = cmd.create(`/memories/${i}`, `${character.repeat(99)}\n`.repeat(MIB / 100));
      const { status } = await send(replica.url, '/execute', key, file);
      row.expect(status === 200, `a file of ${tenant} was rejected with ${status}`);
    }
    for (const [title, { isAdmin = false, request }] of Object.entries(unreadRequests(tenant))) {
      const port = isAdmin ? adminPort : Number(new URL(replica.url).port);
      const sent = request(isAdmin ? keys.admin : key);
      const stop = readNothing(port, sent);
      const end = performance.now() + seconds * 1000;
      let [resident, slowest, rejected, asked] = [0, 0, 0, 0];
      while (performance.now() < end) {
        const start = performance.now();
        const { status } = await quiet('/execute', cmd.view('/memories/f'));
        asked++;
        if (status !== 200) rejected++;
        slowest = Math.max(slowest, performance.now() - start);
        resident = Math.max(resident, residentMiB(replica.pid));
        await delay(EVERY_MS);
      }
      const opened = await stop();
      row.times += opened;
      const what = `${title} of ${tenant}`;
      row.notes.push(
        `${what}: RSS ${resident} MiB, the slowest view of another tenant ${Math.round(slowest)} ms`,
      );
      row.expect(resident <= MAX_RESIDENT_MIB, `${what}: RSS ${resident} MiB`);
      row.expect(rejected === 0, `${what}: ${rejected} of ${asked} views of another tenant failed`);
    }
  }
  row.expect((await replica.status('/healthz')) === 200, 'the service ended');
  await replica.end();
  return row;
}

interface Unread {
  isAdmin?: boolean;
  request(key: string): string;
}

function unreadRequests(tenant: string): Record<string, Unread> {
  const store = `/v1/memory_stores/${tenant}`;
  const block = (i: number) => ({
    type: 'tool_use',
    id: `toolu_${i}`,
    name: 'memory',
    input: cmd.view(`/memories/${i % FILES}`),
  });
  const resource = (id: number) => ({
    jsonrpc: '2.0',
    id,
    method: 'resources/read',
    params: { uri: `memory:///memories/${id % FILES}` },
  });
  const many = <Item>(make: (i: number) => Item) => Array.from({ length: 32 }, (_, i) => make(i));
  const search = { query: ATTACKERS.quotes.repeat(3), mode: 'literal', max_results: 100 };
  return {
    memories: { request: (key) => http('GET', `${store}/memories?view=full&limit=100`, key) },
    versions: { request: (key) => http('GET', `${store}/memory_versions?view=full&limit=100`, key) },
    'a block': { request: (key) => http('POST', '/execute', key, block(0)) },
    '32 blocks': { request: (key) => http('POST', '/execute', key, many(block)) },
    'a resource': { request: (key) => http('POST', '/mcp', key, resource(0)) },
    '32 resources': { request: (key) => http('POST', '/mcp', key, many(resource)) },
    'a search': { request: (key) => http('POST', '/search', key, search) },
    'an operator’s file': {
      isAdmin: true,
      request: (key) => http('GET', `/v1/tenants/${tenant}/file?path=/memories/0`, key),
    },
    'an operator’s diff': {
      isAdmin: true,
      request: (key) => http('GET', `/v1/tenants/${tenant}/diff`, key),
    },
  };
}

/** Keeps connections open that send a request several times and do not read. Returns a function that closes them. */
function readNothing(port: number, request: string): () => Promise<number> {
  const open = new Set<Socket>();
  let isOver = false;
  let opened = 0;
  const keep = async () => {
    while (!isOver) {
      const socket = connect(port, '127.0.0.1').on('error', () => {});
      open.add(socket);
      opened++;
      socket.pause().write(request.repeat(PIPELINED));
      const closed = new Promise((resolve) => socket.once('close', resolve));
      // A paused socket does not notice that the service has closed the connection.
      await Promise.race([closed, delay(5000, undefined, { ref: false })]);
      socket.destroy();
      open.delete(socket);
    }
  };
  const all = Promise.all(Array.from({ length: CONNECTIONS }, keep));
  return async () => {
    isOver = true;
    for (const socket of open) socket.destroy();
    await all;
    return opened;
  };
}

function http(method: 'GET' | 'POST', path: string, key: string, body?: object): string {
  const json = body === undefined ? '' : JSON.stringify(body);
  const head = `${method} ${path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${key}\r\n`;
  const content = `Content-Type: application/json\r\nContent-Length: ${Buffer.byteLength(json)}\r\n`;
  return `${head}${body === undefined ? '' : content}\r\n${json}`;
}

async function send(url: string, path: string, key: string, body: object): Promise<{ status: number }> {
  const headers = { 'content-type': 'application/json', authorization: `Bearer ${key}` };
  try {
    const response = await fetch(url + path, { method: 'POST', headers, body: JSON.stringify(body) });
    await response.text();
    return { status: response.status };
  } catch {
    return { status: 0 };
  }
}

/** Creates a key for each tenant and a key for an operator. */
async function makeKeys(
  database: string,
): Promise<Record<string, string> & { quiet: string; admin: string }> {
  const client = new pg.Client({ connectionString: database });
  await client.connect();
  const make = async (tenant: string | null) => {
    const { key, hash, id } = newApiKey();
    if (tenant !== null) await client.query('INSERT INTO tenants (id) VALUES ($1)', [tenant]);
    await client.query(
      `INSERT INTO api_keys (hash, id, tenant_id, access, is_admin) VALUES ($1, $2, $3, 'read_write', $4)`,
      [hash, id, tenant, tenant === null],
    );
    return key;
  };
  const keys: Record<string, string> = {};
  for (const tenant of Object.keys(ATTACKERS)) keys[tenant] = await make(tenant);
  const made = { ...keys, quiet: await make(QUIET), admin: await make(null) };
  await client.end();
  return made;
}
