/** Errors from a real service, compared with the examples in docs/errors.md byte for byte. */
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { type AddressInfo, connect } from 'node:net';
import { join } from 'node:path';
import { generateKeyPair, SignJWT } from 'jose';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { loadConfig } from '../../src/core/config.ts';
import { ERROR_CATALOG, type ErrorCode, type ErrorDefinition } from '../../src/core/errors/catalog.ts';
import { encodeCursor } from '../../src/core/lib/cursor.ts';
import { newApiKey } from '../../src/core/tenants/keys.ts';
import { Tenants } from '../../src/core/tenants/tenants.ts';
import { FirstKey } from '../../src/features/sign-in/first-key.ts';
import { buildAdminApp } from '../../src/service/admin-app.ts';
import { type Admin, makeKey, openAdmin } from '../support/admin.ts';
import { headersFor, modern, requestHeaders } from '../support/mcp.ts';
import { cmd } from '../support/step-table.ts';
import { createTestDatabase, lockWait } from '../support/test-database.ts';
import { type Service, startService } from '../support/test-service.ts';

const page = readFileSync(join(import.meta.dirname, '../../docs/errors.md'), 'utf8');

/** Codes without a request in this file, each with the reason. A new code needs a request or an entry here. */
const NOT_PROVOKED: Partial<Record<ErrorCode, string>> = {
  access_changed: 'Only the last event in a stream has this code: test/http/event-stream.test.ts.',
  client_gone: 'No response has this code: the client has closed the connection.',
  database_read_only: 'A standby needs a Postgres server of its own: test/database/standby.test.ts.',
  tenant_replaced: 'The tenant is deleted while a request runs: test/http/array-faults.test.ts.',
};

/** A response, with its body as text. */
interface Received {
  status: number;
  retryAfter: string | undefined;
  body: string;
}

interface Sent {
  method?: 'GET' | 'POST' | 'PUT' | 'DELETE';
  url?: string;
  headers?: Record<string, string>;
  body?: string | Buffer | object;
}

async function send({ app }: Pick<Service, 'app'>, sent: Sent): Promise<Received> {
  const { method = 'POST', url = '/execute', headers = {}, body } = sent;
  const isText = body === undefined || typeof body === 'string' || Buffer.isBuffer(body);
  const response = await app.inject({
    method,
    url,
    headers: { ...(body === undefined ? {} : { 'content-type': 'application/json' }), ...headers },
    ...(body === undefined ? {} : { payload: isText ? body : JSON.stringify(body) }),
  });
  const retryAfter = response.headers['retry-after'];
  return {
    status: response.statusCode,
    retryAfter: retryAfter === undefined ? undefined : String(retryAfter),
    body: response.body,
  };
}

/** Sends bytes over a socket and returns the last response, after the service closed the connection. */
async function sendRaw({ app }: Pick<Service, 'app'>, text: string): Promise<Received> {
  if (!app.server.listening) await app.listen({ host: '127.0.0.1', port: 0 });
  const { port } = app.server.address() as AddressInfo;
  const socket = connect({ port, host: '127.0.0.1' }).on('error', () => {});
  let received = '';
  socket.setEncoding('utf8').on('data', (chunk) => {
    received += chunk;
  });
  socket.write(text);
  await once(socket, 'close');
  const last = received.slice(received.lastIndexOf('HTTP/1.1 '));
  const [head = '', body = ''] = last.split('\r\n\r\n');
  return {
    status: Number(head.slice(9, 12)),
    retryAfter: /\r\nretry-after: (\d+)/i.exec(head)?.[1],
    body,
  };
}

const get = (url: string, headers = '') =>
  `GET ${url} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n${headers}\r\n`;

const bearer = (key: string) => ({ authorization: `Bearer ${key}` });
const NOTES = '/memories/notes.md';

const cleanups: (() => Promise<unknown>)[] = [];
let url: string;
let open: Service;
let keyed: Service;
let admin: Admin;
let firstKey: FirstKey | undefined;
const keys: Record<'acme' | 'service' | 'initech', string> = { acme: '', service: '', initech: '' };

async function start(env: Record<string, string>): Promise<Service> {
  const service = await startService('postgres', { DATABASE_URL: url, ...env });
  cleanups.unshift(() => service.close());
  return service;
}

/** Starts a service on a separate database, which the test can damage. */
async function startOnOwnDatabase(env: Record<string, string> = {}) {
  const database = await createTestDatabase();
  const service = await startService('postgres', { ...env, DATABASE_URL: database.url });
  cleanups.unshift(() => service.close().finally(database.drop));
  return { service, drop: database.drop };
}

async function onAdmin(sent: Sent, key: string = admin.key.key): Promise<Received> {
  return send(admin, { ...sent, headers: { ...bearer(key), ...sent.headers } });
}

/** Runs `use` while a transaction blocks all writes to a tenant. */
async function whileHeld<T>(tenant: string, use: () => Promise<T>): Promise<T> {
  await open.query('BEGIN');
  await open.query('SELECT 1 FROM tenants WHERE id = $1 FOR UPDATE', [tenant]);
  try {
    return await use();
  } finally {
    await open.query('ROLLBACK');
  }
}

const write = (path: string) => ({
  body: cmd.create(path, 'x'),
  headers: { 'x-tenant-id': 'acme' },
});

/** Returns the response to a second write, which has no slot while the first write waits for a lock. */
async function sendWithoutSlot(env: Record<string, string>, tenant: string): Promise<Received> {
  const service = await start({ MAX_QUEUE_MS: '1', ...env });
  return whileHeld('acme', async () => {
    const first = send(service, write('/memories/first'));
    await lockWait(url);
    const second = await send(service, { ...write('/memories/second'), headers: { 'x-tenant-id': tenant } });
    await open.query('ROLLBACK');
    await first;
    return second;
  });
}

/** Returns the response to a second stream, while the first stream by tenant acme is open. */
async function sendBesideStream(env: Record<string, string>, tenant: string): Promise<Received> {
  const service = await start(env);
  const message = modern('subscriptions/listen', { notifications: { resourcesListChanged: true } });
  const open = (id: string) => ({
    url: '/mcp',
    headers: requestHeaders(undefined, { ...headersFor(message), 'x-tenant-id': id }),
  });
  await service.app.inject({ method: 'POST', ...open('acme'), payload: message, payloadAsStream: true });
  return send(service, { ...open(tenant), body: message });
}

const putFile = (tenant: string, size: number, headers: Record<string, string> = {}) =>
  onAdmin({
    method: 'PUT',
    url: `/v1/tenants/${tenant}/file?path=${NOTES}`,
    headers: { 'content-type': 'text/plain', ...headers },
    body: 'x'.repeat(size),
  });

const NEW = { 'if-none-match': '*' };

/** Creates a draft for acme and returns its ID. */
async function createDraft(): Promise<string> {
  const { body } = await admin.call('POST', '/tenants/acme/drafts', { body: { title: 'tidy' } });
  return String(body.id);
}

beforeAll(async () => {
  const database = await createTestDatabase();
  cleanups.push(database.drop);
  url = database.url;
  open = await start({});
  keyed = await start({ AUTH: 'keys', AUTO_CREATE_TENANTS: 'false' });
  firstKey = await FirstKey.offer(keyed.database);
  admin = await openAdmin(keyed);
  cleanups.unshift(() => admin.app.close());
  const tenants = new Tenants(keyed.database);
  for (const id of ['acme', 'globex', 'initech', 'hooli', 'rated']) await tenants.create(id);
  await tenants.set('globex', { maxBytes: 100 });
  await tenants.set('rated', { ratePerMinute: 60 });
  keys.acme = (await makeKey(keyed, { tenant: 'acme' })).key;
  keys.initech = (await makeKey(keyed, { tenant: 'initech' })).key;
  keys.service = (await makeKey(keyed, { managesStores: true })).key;
  expect((await admin.call('POST', '/tenants/initech/suspend')).status).toBe(200);
  expect((await admin.call('POST', '/tenants/hooli/archive')).status).toBe(200);
  expect((await putFile('acme', 5, NEW)).status).toBe(201);
  expect((await putFile('globex', 99, NEW)).status).toBe(201);
});
afterAll(async () => {
  for (const cleanup of cleanups) await cleanup();
});

/** A request that receives the error, for each code. */
const PROVOKED: readonly [ErrorCode, () => Promise<Received>][] = [
  ['invalid_json', () => send(open, { body: '{' })],
  ['invalid_utf8', () => send(open, { body: Buffer.from([0x22, 0xff, 0x22]) })],
  ['invalid_body', () => send(open, { body: '{}', headers: { 'content-length': '1' } })],
  ['json_too_complex', () => send(open, { body: { ...cmd.view('/memories'), extra: Array(5000).fill(0) } })],
  ['not_a_memory_input', () => send(open, { body: {} })],
  [
    'invalid_idempotency_key',
    () => send(open, { body: cmd.view('/memories'), headers: { 'idempotency-key': 'a b' } }),
  ],
  ['invalid_url', () => sendRaw(open, get('/%ff'))],
  ['invalid_request', () => sendRaw(open, 'garbage\r\n\r\n')],
  ['invalid_parameter', () => send(open, { url: '/search', body: [] })],
  ['route_not_found', () => send(open, { method: 'GET', url: '/nothing' })],
  ['method_not_allowed', () => send(open, { method: 'GET' })],
  [
    'changes_expired',
    async () => {
      const read = (after: string) =>
        send(keyed, { method: 'GET', url: `/v1/changes?after=${after}`, headers: bearer(keys.acme) });
      const { cursor } = JSON.parse((await read('now')).body);
      const position = JSON.parse(Buffer.from(cursor, 'base64url').toString());
      await keyed.query("UPDATE tenants SET history_since = '2026-11-22T09:30:00.123456Z' WHERE id = 'acme'");
      return read(encodeCursor({ ...position, time: '2026-11-20T00:00:00.000000Z' }));
    },
  ],
  [
    'body_timeout',
    async () =>
      sendRaw(
        await start({ TRANSFER_TIMEOUT_MS: '50' }),
        'POST /execute HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 99\r\n\r\n{',
      ),
  ],
  [
    'request_timeout',
    async () => sendRaw(await start({ REQUEST_TIMEOUT_MS: '300' }), 'GET / HTTP/1.1\r\nHost: localhost\r\n'),
  ],
  ['body_too_large', () => send(open, { body: 'x'.repeat(6_356_993) })],
  ['unsupported_media_type', () => send(open, { body: '{}', headers: { 'content-type': 'text/plain' } })],
  [
    'unsupported_charset',
    () => send(open, { body: '{}', headers: { 'content-type': 'application/json; charset=latin1' } }),
  ],
  ['unsupported_content_encoding', () => send(open, { body: '{}', headers: { 'content-encoding': 'gzip' } })],
  ['expectation_failed', () => sendRaw(open, get('/healthz', 'Expect: nonsense\r\n'))],
  [
    'idempotency_key_reused',
    async () => {
      const headers = { 'x-tenant-id': 'acme', 'idempotency-key': 'one' };
      await send(open, { body: cmd.create('/memories/one'), headers });
      return send(open, { body: cmd.create('/memories/two'), headers });
    },
  ],
  ['precondition_required', () => putFile('acme', 1)],
  [
    'rate_limited',
    async () => {
      const sent = { body: cmd.view('/memories'), headers: { 'x-tenant-id': 'rated' } };
      for (let i = 0; i < 60; i++) await send(open, sent);
      return send(open, sent);
    },
  ],
  ['too_many_at_once', () => sendWithoutSlot({ MAX_IN_FLIGHT_PER_TENANT: '1' }, 'acme')],
  ['too_many_streams', () => sendBesideStream({ MAX_STREAMS_PER_TENANT: '1' }, 'acme')],
  ['too_many_pipelined', () => sendRaw(open, 'GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n'.repeat(16))],
  ['headers_too_large', () => sendRaw(open, get('/', `X: ${'x'.repeat(20_000)}\r\n`))],
  ['too_many_headers', () => sendRaw(open, get('/healthz', 'a:\r\n'.repeat(1001)))],

  ['tenant_required', () => send(keyed, { body: cmd.view('/memories'), headers: bearer(keys.service) })],
  [
    'invalid_tenant',
    () =>
      send(keyed, {
        body: cmd.view('/memories'),
        headers: { ...bearer(keys.service), 'x-tenant-id': 'a b' },
      }),
  ],
  ['unauthorized', () => send(keyed, { body: cmd.view('/memories') })],
  [
    'tenant_mismatch',
    () =>
      send(keyed, {
        body: cmd.view('/memories'),
        headers: { ...bearer(keys.acme), 'x-tenant-id': 'globex' },
      }),
  ],
  ['tenant_suspended', () => send(keyed, { body: cmd.view('/memories'), headers: bearer(keys.initech) })],
  [
    'unknown_tenant',
    () =>
      send(keyed, {
        body: cmd.view('/memories'),
        headers: { ...bearer(keys.service), 'x-tenant-id': 'umbrella' },
      }),
  ],
  ['cannot_share', () => send(keyed, { method: 'GET', url: '/v1/shares', headers: bearer(keys.acme) })],
  ['sharing_off', () => send(open, { url: '/v1/invitations', body: {}, headers: { 'x-tenant-id': 'acme' } })],
  [
    'sharing_not_allowed',
    async () => {
      const service = await start({ SHARING: 'on', SHARING_SAME_METADATA: 'customer' });
      const as = (tenant: string) => ({ 'x-tenant-id': tenant });
      const { body } = await send(service, { url: '/v1/invitations', body: {}, headers: as('acme') });
      const acceptance = { token: JSON.parse(body).token, name: 'team' };
      return send(service, { url: '/v1/shares', body: acceptance, headers: as('globex') });
    },
  ],
  ['is_admin_key', () => send(keyed, { body: cmd.view('/memories'), headers: bearer(admin.key.key) })],
  ['not_an_admin_key', () => onAdmin({ method: 'GET', url: '/v1/tenants' }, keys.acme)],
  [
    'has_admin_key',
    async () => {
      const config = loadConfig({ AUTH: 'keys', LOG_LEVEL: 'silent' });
      const app = await buildAdminApp({ config, database: keyed.database, firstKey });
      cleanups.unshift(() => app.close());
      const token = firstKey?.linkAt('https://memory.example.com').split('/').at(-1);
      return send({ app }, { url: '/sign-in/first-key', body: { token } });
    },
  ],
  [
    'read_only_key',
    async () => {
      const { key } = await makeKey(keyed, { isAdmin: true, access: 'read_only' });
      return onAdmin({ url: '/v1/tenants', body: { id: 'new' } }, key);
    },
  ],
  [
    'operate_only_key',
    async () => {
      const { key } = await makeKey(keyed, { isAdmin: true, access: 'operate' });
      return onAdmin({ url: '/v1/tenants', body: { id: 'new' } }, key);
    },
  ],
  [
    'comment_of_another',
    async () => {
      const path = `/tenants/acme/drafts/${await createDraft()}/comments`;
      const { body } = await admin.call('POST', path, { body: { text: 'Why?' } });
      const { key } = await makeKey(keyed, { isAdmin: true, access: 'operate' });
      return onAdmin({ method: 'DELETE', url: `/v1${path}/${body.id}` }, key);
    },
  ],
  [
    'outside_scope',
    async () => {
      const { key } = await makeKey(keyed, { isAdmin: true, onlyTenants: ['globex'] });
      return onAdmin({ method: 'GET', url: '/v1/tenants/acme' }, key);
    },
  ],
  [
    'own_draft',
    async () => {
      const draft = await createDraft();
      const { key } = await makeKey(keyed, { isAdmin: true, access: 'operate' });
      const file = {
        method: 'PUT' as const,
        url: `/v1/tenants/${draft}/file?path=/memories/own`,
        headers: { 'content-type': 'text/plain', ...NEW },
        body: 'x',
      };
      expect((await onAdmin(file, key)).status).toBe(201);
      const { review } = (await admin.call('GET', `/tenants/acme/drafts/${draft}/changes`)).body;
      return onAdmin({ url: `/v1/tenants/acme/drafts/${draft}/merge`, body: { review } }, key);
    },
  ],
  [
    'host_not_allowed',
    () => send(open, { method: 'GET', url: '/healthz', headers: { host: 'evil.example' } }),
  ],
  [
    'too_many_failed_attempts',
    async () => {
      const service = await start({ AUTH: 'keys', AUTH_FAILURES_PER_MINUTE: '1' });
      const guess = () => send(service, { body: cmd.view('/memories'), headers: bearer(newApiKey().key) });
      await guess();
      return guess();
    },
  ],

  ['not_found', () => onAdmin({ method: 'GET', url: '/v1/tenants/umbrella' })],
  ['rejected', () => putFile('acme', 1_048_577, { 'if-match': '*' })],
  ['over_quota', () => putFile('globex', 119, { 'if-match': '*' })],
  ['precondition_failed', () => putFile('acme', 1, { 'if-match': '"stale"' })],
  [
    'history_incomplete',
    async () => {
      await open.query(
        "UPDATE tenants SET created_at = '2026-11-01', history_since = '2026-11-20T08:00Z' WHERE id = 'acme'",
      );
      return onAdmin({ method: 'GET', url: '/v1/tenants/acme/diff?at=2026-11-10' });
    },
  ],
  ['tenant_exists', () => onAdmin({ url: '/v1/tenants', body: { id: 'acme' } })],
  ['tenant_archived', () => putFile('hooli', 1, NEW)],

  [
    'internal_error',
    async () => {
      const { service } = await startOnOwnDatabase();
      await service.query('ALTER TABLE entries RENAME COLUMN content TO contents');
      return send(service, { body: cmd.view(NOTES) });
    },
  ],
  [
    'database_unavailable',
    async () => {
      const { service, drop } = await startOnOwnDatabase({ DB_CONNECT_TIMEOUT_MS: '500' });
      await drop();
      return send(service, { body: cmd.view(NOTES) });
    },
  ],
  [
    'database_busy',
    async () => {
      const service = await start({ DB_LOCK_TIMEOUT_MS: '20' });
      return whileHeld('acme', () => send(service, write('/memories/busy')));
    },
  ],
  [
    'database_not_migrated',
    async () => {
      const { service } = await startOnOwnDatabase();
      await service.query('DELETE FROM drizzle.__drizzle_migrations');
      return send(service, { method: 'GET', url: '/readyz' });
    },
  ],
  [
    'database_too_new',
    async () => {
      const { service } = await startOnOwnDatabase();
      await service.query(
        "CREATE OR REPLACE FUNCTION memory_oldest_compatible_version() RETURNS integer LANGUAGE sql IMMUTABLE AS 'SELECT 1000'",
      );
      return send(service, { method: 'GET', url: '/readyz' });
    },
  ],
  [
    'installation_secret_differs',
    async () => {
      const { service } = await startOnOwnDatabase();
      const other = await openAdmin(service, { INSTALLATION_SECRET: 'another secret, of 32 characters too' });
      cleanups.unshift(() => other.app.close());
      const added = await other.call('POST', '/kept-out', { body: { text: 'Ana lives at 12 Elm Street' } });
      expect(added.status).toBe(201);
      return send(service, { body: cmd.create(NOTES, 'x') });
    },
  ],
  [
    'shutting_down',
    async () => {
      const service = await start({});
      service.app.drain();
      return send(service, { method: 'GET', url: '/readyz' });
    },
  ],
  ['overloaded', () => sendWithoutSlot({ MAX_IN_FLIGHT: '1' }, 'globex')],
  ['streams_full', () => sendBesideStream({ MAX_STREAMS: '1' }, 'globex')],
  [
    'timeout',
    async () => {
      const service = await start({ HANDLER_TIMEOUT_MS: '300' });
      const body = JSON.stringify(cmd.create('/memories/slow', 'x'));
      const request = `POST /execute HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nX-Tenant-Id: acme\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`;
      return whileHeld('acme', () => sendRaw(service, request));
    },
  ],
  [
    'issuer_unavailable',
    async () => {
      const service = await start({
        AUTH: 'jwt',
        JWT_ISSUER: 'https://issuer.example',
        JWT_AUDIENCE: 'memory',
        JWKS_URL: 'http://127.0.0.1:1/jwks',
      });
      const { privateKey } = await generateKeyPair('EdDSA');
      const token = await new SignJWT({ tenant: 'acme' })
        .setProtectedHeader({ alg: 'EdDSA', kid: 'k1' })
        .setIssuer('https://issuer.example')
        .setAudience('memory')
        .setExpirationTime('1h')
        .sign(privateKey);
      return send(service, { body: cmd.view('/memories'), headers: bearer(token) });
    },
  ],
];

const STORES = '/v1/memory_stores';

const toStores = (sent: Sent, key = keys.service) =>
  send(keyed, { ...sent, url: `${STORES}${sent.url ?? ''}`, headers: { 'x-api-key': key, ...sent.headers } });

const createMemory = (store: string, path: string, content = 'x'): Sent => ({
  url: `/${store}/memories`,
  body: { path, content },
});

/** A request to the Memory Stores API that receives the equivalent error, for each code. */
const PROVOKED_IN_STORES: readonly [ErrorCode, () => Promise<Received>][] = [
  ['invalid_json', () => toStores({ body: '{' })],
  ['invalid_utf8', () => toStores({ body: Buffer.from([0x22, 0xff, 0x22]) })],
  ['invalid_body', () => toStores({ body: '{}', headers: { 'content-length': '1' } })],
  ['json_too_complex', () => toStores({ body: { name: 'a', extra: Array(5000).fill(0) } })],
  ['invalid_url', () => sendRaw(keyed, get(`${STORES}/%ff`))],
  ['invalid_request', () => sendRaw(keyed, `GET ${STORES} HTTQ/1.1\r\n\r\n`)],
  ['invalid_parameter', () => toStores({ method: 'GET', url: '?limit=0' })],
  ['route_not_found', () => toStores({ method: 'GET', url: '/acme/nothing' })],
  ['body_too_large', () => toStores({ body: 'x'.repeat(6_356_993) })],
  ['unsupported_media_type', () => toStores({ body: '{}', headers: { 'content-type': 'text/plain' } })],
  [
    'unsupported_charset',
    () => toStores({ body: '{}', headers: { 'content-type': 'application/json; charset=latin1' } }),
  ],
  ['unsupported_content_encoding', () => toStores({ body: '{}', headers: { 'content-encoding': 'gzip' } })],
  ['expectation_failed', () => sendRaw(keyed, get(STORES, 'Expect: nonsense\r\n'))],
  ['headers_too_large', () => sendRaw(keyed, get(STORES, `X: ${'x'.repeat(20_000)}\r\n`))],
  ['too_many_headers', () => sendRaw(keyed, get(STORES, 'a:\r\n'.repeat(1001)))],
  ['unauthorized', () => send(keyed, { method: 'GET', url: STORES })],
  ['is_admin_key', () => toStores({ method: 'GET' }, admin.key.key)],
  ['host_not_allowed', () => send(open, { method: 'GET', url: STORES, headers: { host: 'evil.example' } })],
  ['tenant_mismatch', () => toStores({ method: 'GET', url: '/globex' }, keys.acme)],
  ['tenant_suspended', () => toStores({ method: 'GET', url: '/initech/memories' })],
  ['unknown_tenant', () => toStores({ method: 'GET', url: '/umbrella' })],
  ['tenant_archived', () => toStores(createMemory('hooli', '/notes.md'))],
  ['not_found', () => toStores({ method: 'GET', url: '/acme/memories/mem_01' })],
  ['rejected', () => toStores(createMemory('acme', '/notes.md'))],
  ['over_quota', () => toStores(createMemory('globex', '/more.md', 'x'.repeat(20)))],
  [
    'precondition_failed',
    async () => {
      const { data } = JSON.parse((await toStores({ method: 'GET', url: '/acme/memories' })).body);
      const precondition = { type: 'content_sha256', content_sha256: '0'.repeat(64) };
      return toStores({ url: `/acme/memories/${data[0].id}`, body: { content: 'new', precondition } });
    },
  ],
];

/** Returns a code's section on the page. */
const section = (code: string): string => page.split(`\n### \`${code}\`\n`)[1]?.split(/\n##+ /)[0] ?? '';

const example = (code: string): { status: number; detail: string; request_id: string } =>
  JSON.parse(/^```json\n(.*?)^```$/ms.exec(section(code))?.[1] ?? '');

/** Returns the Memory Stores API's entries in a code's section. */
function storeEntries(code: string): string[] {
  const [, entries = ''] = section(code).split('- **Memory Stores API:**');
  return entries.split('\n').map((line) => line.replace(/^ *(- )?/, '').replaceAll('&gt;', '>'));
}

it('provokes each error code, except codes that are listed with a reason', () => {
  const codes = Object.entries<ErrorDefinition<never[]>>(ERROR_CATALOG).map(
    ([reason, { code = reason }]) => code,
  );
  const covered = [...PROVOKED.map(([code]) => code), ...Object.keys(NOT_PROVOKED)];
  expect(covered.toSorted()).toStrictEqual([...new Set(codes)].toSorted());
});

it.each(PROVOKED)('returns the error for %s exactly as docs/errors.md shows it', async (code, provoke) => {
  const { status, retryAfter, body } = await provoke();
  const expected = example(code);
  const { request_id: id } = JSON.parse(body);
  expect(body.replace(id, expected.request_id)).toBe(JSON.stringify(expected));
  expect(status).toBe(expected.status);
  expect(retryAfter !== undefined).toBe(section(code).includes('Yes, after the seconds in `Retry-After`.'));
});

it.each(PROVOKED_IN_STORES)(
  'returns the Memory Stores error for %s as docs/errors.md documents it',
  async (code, provoke) => {
    const { status, body } = await provoke();
    const { type, error } = JSON.parse(body);
    expect(type).toBe('error');
    const { detail } = example(code);
    const message = error.message === detail ? ', with the same message' : `: ${error.message}`;
    expect(storeEntries(code)).toContain(`${status} \`${error.type}\`${message}`);
  },
);
