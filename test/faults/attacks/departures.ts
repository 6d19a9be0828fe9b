/**
 * Clients that disconnect in the middle of each kind of request. The service keeps running, releases files,
 * transactions, and slots, and logs no errors.
 */
import { randomUUID } from 'node:crypto';
import { readdirSync, readlinkSync } from 'node:fs';
import { connect } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { createArchive } from '../../support/create-archive.ts';
import { freePort } from '../../support/faults/postgres-server.ts';
import { Replica } from '../../support/faults/replica.ts';
import { cmd } from '../../support/step-table.ts';
import { becomesTrue, checkNoLeak, createDatabase, type Environment, LIMITS } from '../environment.ts';
import { Row } from '../fault-report.ts';

const CLIENTS = 10;
/** A client disconnects at a random time before this limit. */
const MAX_STAY_MS = 12;
/** Number of complete requests after the disconnects. */
const COMPLETE = 4;
/** Work that has begun continues after its client disconnects. */
const RECOVERY_MS = 60_000;

const FEW = 'few-files';
const MANY = 'many-files';
const VERSIONED = 'many-versions';

interface LeftRequest {
  method?: 'GET' | 'POST' | 'DELETE';
  path: string;
  type?: string;
  accept?: string;
  body?: string | Buffer;
  /** Fraction of the body that is sent before the client disconnects. */
  part?: number;
}

const json = (path: string, body: object): LeftRequest => ({
  method: 'POST',
  path,
  type: 'application/json',
  body: JSON.stringify(body),
});
const leaveInHalf = (request: LeftRequest): LeftRequest => ({ ...request, part: 0.5 });

const archive = createArchive(
  Object.fromEntries(Array.from({ length: 500 }, (_, i) => [`memories/${i}`, 'a line of text\n'.repeat(50)])),
);
const importRequest = (query = ''): LeftRequest => ({
  method: 'POST',
  path: `/v1/tenants/${FEW}/import?into=/memories/${randomUUID()}&strip=1${query}`,
  type: 'application/x-tar',
  body: archive,
});
const mcp = (method: string, params: object): LeftRequest =>
  json('/mcp', { jsonrpc: '2.0', id: 1, method, params });

const agents: Record<string, () => LeftRequest> = {
  'views of a directory': () => json('/execute', cmd.view('/memories')),
  'views of a file': () => json('/execute', cmd.view('/memories/large')),
  creates: () => json('/execute', cmd.create(`/memories/${randomUUID()}`, 'x')),
  'creates, in half': () => leaveInHalf(json('/execute', cmd.create('/memories/half', 'x'.repeat(200_000)))),
  searches: () => json('/search', { query: 'line text' }),
  'MCP calls': () => mcp('tools/call', { name: 'memory', arguments: cmd.view('/memories') }),
  'MCP lists': () => mcp('resources/list', {}),
  instructions: () => ({ path: '/instructions' }),
  'lists of memories': () => ({ path: `/v1/memory_stores/${MANY}/memories?view=full&limit=100` }),
  'lists of memory versions': () => ({
    path: `/v1/memory_stores/${MANY}/memory_versions?view=full&limit=100`,
  }),
};

const administrators: Record<string, (draft: string) => LeftRequest> = {
  exports: () => ({ path: `/v1/tenants/${FEW}/export` }),
  'exports of many files': () => ({ path: `/v1/tenants/${MANY}/export` }),
  'exports of a history': () => ({ path: `/v1/tenants/${VERSIONED}/export?history=true` }),
  imports: () => importRequest(),
  'imports, in half': () => leaveInHalf(importRequest()),
  'imports with progress': () => ({ ...importRequest('&dry_run=true'), accept: 'application/x-ndjson' }),
  'imports with progress, in half': () => ({
    ...leaveInHalf(importRequest()),
    accept: 'application/x-ndjson',
  }),
  trees: () => ({ path: `/v1/tenants/${MANY}/tree?limit=1000` }),
  directories: () => ({ path: `/v1/tenants/${MANY}/directory` }),
  files: () => ({ path: `/v1/tenants/${FEW}/file?path=/memories/large` }),
  diffs: () => ({ path: `/v1/tenants/${VERSIONED}/diff` }),
  'dry runs of a revert': () =>
    json(`/v1/tenants/${VERSIONED}/revert`, {
      by: 'anonymous',
      since: '2020-01-01T00:00:00Z',
      dry_run: true,
    }),
  'searches of an operator': () => ({ path: `/v1/tenants/${MANY}/search?query=line+text` }),
  drafts: () => json(`/v1/tenants/${FEW}/drafts`, { title: 'left' }),
  'changes of a draft': (draft) => ({ path: `/v1/tenants/${VERSIONED}/drafts/${draft}/changes` }),
  tenants: () => ({ path: '/v1/tenants' }),
  console: () => ({ path: '/' }),
  documents: () => ({ path: '/openapi.json' }),
};

/** Sends a request and disconnects after `stayMs` if given. Resolves with the status, or 0 without a response. */
async function send(
  url: string,
  { method = 'GET', path, type, accept = 'application/json, text/event-stream', body, part = 1 }: LeftRequest,
  stayMs?: number,
): Promise<number> {
  const { hostname, port } = new URL(url);
  const socket = connect(Number(port), hostname).on('error', () => {});
  let answer = '';
  socket.on('data', (data) => {
    if (answer.length < 100) answer += data.toString('latin1');
  });
  const content = Buffer.from(body ?? '');
  const lines = [
    `${method} ${path} HTTP/1.1`,
    'Host: localhost',
    'Connection: close',
    `X-Tenant-Id: ${MANY}`,
    `Accept: ${accept}`,
    ...(type === undefined ? [] : [`Content-Type: ${type}`]),
    ...(body === undefined ? [] : [`Content-Length: ${content.length}`]),
  ];
  socket.write(`${lines.join('\r\n')}\r\n\r\n`);
  socket.write(content.subarray(0, content.length * part));
  if (stayMs === undefined) await new Promise((resolve) => socket.once('close', resolve));
  else {
    await delay(stayMs);
    // Half of the clients reset the connection, like a killed process.
    if (Math.random() < 0.5) socket.resetAndDestroy();
    else socket.destroy();
  }
  return Number(answer.split(' ')[1] ?? 0);
}

/** Counts a process's open files, without sockets. */
function countOpenFiles(pid: number): number {
  const directory = `/proc/${pid}/fd`;
  return readdirSync(directory).filter((fd) => {
    try {
      return !readlinkSync(`${directory}/${fd}`).startsWith('socket:');
    } catch {
      // The file was closed after the directory was read.
      return false;
    }
  }).length;
}

/** DEPARTURES (1000) sets how many clients leave each kind of request. */
export async function departures({ postgres, option }: Environment): Promise<Row> {
  const count = option('DEPARTURES', 1000, 30);
  const row = new Row(
    `${count} clients leave each of ${Object.keys({ ...agents, ...administrators }).length} kinds of requests`,
  );
  const database = await createDatabase(postgres);
  const adminPort = await freePort();
  const adminUrl = `http://127.0.0.1:${adminPort}`;
  const replica = await Replica.create({
    ...LIMITS,
    DATABASE_URL: postgres.url(postgres.port, database),
    ADMIN_PORT: String(adminPort),
    LOG_LEVEL: 'info',
    MAX_TENANT_FILES: '0',
    MAX_TENANT_BYTES: '0',
  });
  const faults = new Map<string, number>();
  const note = (fault: string) => faults.set(fault, (faults.get(fault) ?? 0) + 1);
  replica.onLine((line) => {
    const { level, status, code, msg, command, route } = readLine(line);
    if (level === 'error' || level === 'fatal' || Number(status) >= 500)
      note([level, msg, status, code, command ?? route].filter(Boolean).join(' '));
  });
  await replica.start();
  const draft = await prepare(replica.url, adminUrl);
  const all = [
    ...Object.entries(agents).map(([title, next]) => ({ title, next, url: replica.url })),
    ...Object.entries(administrators).map(([title, next]) => ({
      title,
      next: () => next(draft),
      url: adminUrl,
    })),
  ];
  // For each kind, the first request loads modules and opens connections.
  for (const { title, next, url } of all) {
    const request = next();
    if (request.part !== undefined) continue;
    const status = await send(url, request);
    row.expect(status === 200, `${title}: ${status}`);
  }
  const before = countOpenFiles(replica.pid);
  const isQuiet = async () =>
    countOpenFiles(replica.pid) <= before &&
    (await openTransactions(postgres, database)) === 0 &&
    (await replica.metric('memory_requests_in_flight')) === 0;
  for (const { title, next, url } of all) {
    let left = 0;
    const leave = async () => {
      while (left++ < count && replica.isRunning) await send(url, next(), Math.random() * MAX_STAY_MS);
    };
    await Promise.all(Array.from({ length: CLIENTS }, leave));
    row.times += count;
    row.expect(replica.isRunning, `${title}: the service ended`);
    if (!replica.isRunning) break;
    row.expect(
      await becomesTrue(RECOVERY_MS, isQuiet),
      `${title}: ${countOpenFiles(replica.pid)} files are open, ${before} before; ${await openTransactions(postgres, database)} transactions are open`,
    );
    if (next().part !== undefined) continue;
    let statuses: number[] = [];
    const isServed = async () => {
      statuses = await Promise.all(Array.from({ length: COMPLETE }, () => send(url, next())));
      return statuses.every((status) => status === 200);
    };
    row.expect(await becomesTrue(RECOVERY_MS, isServed), `${title}: complete requests get ${statuses}`);
  }
  if (replica.isRunning) await checkNoLeak([replica], postgres, database, row);
  for (const [fault, times] of faults) row.wrong.push(`in the log ${times} times: ${fault}`);
  await replica.end();
  return row;
}

function readLine(line: string): Record<string, unknown> {
  try {
    return JSON.parse(line);
  } catch {
    return { level: 'error', msg: line.slice(0, 200) };
  }
}

async function openTransactions(postgres: Environment['postgres'], database: string): Promise<number> {
  const rows = await postgres.query(
    `SELECT count(*)::int AS n FROM pg_stat_activity WHERE application_name = 'memory-service' AND datname = $1 AND state <> 'idle'`,
    [database],
  );
  return Number(rows[0]?.n);
}

/** Fills the tenants. Returns the ID of a draft in the tenant with versions. */
async function prepare(url: string, adminUrl: string): Promise<string> {
  const execute = async (tenant: string, input: object) => {
    const response = await fetch(`${url}/execute`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'x-tenant-id': tenant },
      body: JSON.stringify(input),
    });
    if (!response.ok) throw new Error(`cannot prepare ${tenant}: ${response.status}`);
  };
  const importInto = async (tenant: string, files: number) => {
    const body = createArchive(
      Object.fromEntries(
        Array.from({ length: files }, (_, i) => [`memories/d/${i}`, 'a line of text\n'.repeat(10)]),
      ),
    );
    const response = await fetch(`${adminUrl}/v1/tenants/${tenant}/import`, {
      method: 'POST',
      headers: { 'content-type': 'application/x-tar' },
      body: new Uint8Array(body),
    });
    if (!response.ok)
      throw new Error(`cannot prepare ${tenant}: ${response.status} ${await response.text()}`);
  };
  for (const tenant of [FEW, MANY, VERSIONED])
    await execute(tenant, cmd.create('/memories/large', 'a line of text\n'.repeat(20_000)));
  await importInto(MANY, 5000);
  await importInto(VERSIONED, 200);
  for (let i = 0; i < 200; i++)
    await execute(VERSIONED, cmd.replace(`/memories/d/${i}`, 'a line of text\n'.repeat(10), `line ${i}\n`));
  const response = await fetch(`${adminUrl}/v1/tenants/${VERSIONED}/drafts`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ title: 'compared' }),
  });
  const { id } = (await response.json()) as { id: string };
  for (let i = 0; i < 200; i++) await execute(id, cmd.replace(`/memories/d/${i}`, `line ${i}`, `draft ${i}`));
  return id;
}
