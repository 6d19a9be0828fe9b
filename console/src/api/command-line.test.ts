/** The commands that the console copies make the same requests as the console. */
import { execFileSync } from 'node:child_process';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { PassThrough, Readable } from 'node:stream';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { type ApiRequest, patch, post, remove } from './api-client.ts';
import { findRequest, undoRequest } from './incidents-api.ts';
import { toCommandLine } from './request-commands.ts';

// The console's types do not include the service's types, so the imports have no static names.
const ROOT = new URL('../../../', import.meta.url).href;
const { runProgram } = await import(`${ROOT}src/service/program.ts`);
const { CollectedOutput } = await import(`${ROOT}test/support/collected-output.ts`);

/** The first request from a command that changes something, as the admin API receives it. */
let received: { method: string; path: string; json: unknown }[] = [];
const server = createServer((request, response) => {
  const chunks: Buffer[] = [];
  request.on('data', (chunk) => chunks.push(chunk));
  request.on('end', () => {
    const body = Buffer.concat(chunks).toString();
    const isJson = request.headers['content-type']?.startsWith('application/json');
    const { method = '', url = '' } = request;
    if (method !== 'GET') received.push({ method, path: url, json: isJson ? JSON.parse(body) : body });
    response.setHeader('content-type', 'application/json');
    response.end(
      JSON.stringify(request.method === 'GET' ? { id: 'acme', redacted: [], files: 0, next: null } : {}),
    );
  });
});
beforeAll(() => new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve)));
afterAll(() => server.close());

/** Splits a command into its words and its standard input with a POSIX shell. */
function split(command: string): { words: string[]; input: string } {
  const program = 'memory() { printf "%s\\0" "$#" "$@"; cat; }';
  const script = `${program}\n${command.replace(/memory-service /, 'memory ')}`;
  const output = execFileSync('sh', ['-c', script], {
    encoding: 'utf8',
    input: '',
    env: { ADMIN_KEY: 'msk_x', PATH: process.env.PATH },
  });
  const [count, ...words] = output.split('\0');
  return { words: words.slice(0, Number(count)), input: words.slice(Number(count)).join('') };
}

async function run(request: ApiRequest) {
  received = [];
  const { port } = server.address() as AddressInfo;
  const command = toCommandLine(request, `http://127.0.0.1:${port}/`);
  if (command === null) throw new Error(`No command for ${request.method} ${request.path}`);
  const { words, input } = split(command);
  const terminal = Object.assign(new PassThrough(), { isTTY: true });
  terminal.write('y\ny\n');
  const rejectAdminApi = () => Promise.reject(new Error('The command uses the admin API.'));
  const [stdout, stderr] = [new CollectedOutput(false), new CollectedOutput(true)];
  await runProgram(words, {
    version: '1.0.0',
    open: rejectAdminApi,
    openMigrated: rejectAdminApi,
    openPlace: rejectAdminApi,
    serve: rejectAdminApi,
    env: { MEMORY_ADMIN_URL: `http://127.0.0.1:${port}/`, MEMORY_ADMIN_KEY: 'msk_x' },
    io: { stdin: input === '' ? terminal : Readable.from([Buffer.from(input)]), stdout, stderr },
  }).catch(() => {
    // The API stub sends no complete responses. The test reads the request.
  });
  if (received[0] === undefined) throw new Error(`${words.join(' ')} sent no request: ${stderr.text}`);
  return received[0];
}

const NASTY = `-it's $(id) "x"\n`;
const ID = '0e3b6c1e-52f5-4f0a-9d5b-0c8f6a1d9b52';
const KEY = {
  access: 'read_only',
  tenants: null,
  manages_stores: false,
  rights: [],
  can_share: false,
  source: '',
  label: "it's",
  expires_at: null,
};

const REQUESTS: ApiRequest[] = [
  post('tenants/acme/rename', { to: 'globex' }),
  post('tenants/acme/copy', { to: 'globex' }),
  post('tenants/-x/suspend'),
  post('tenants/acme/resume'),
  {
    method: 'PUT',
    path: 'tenants/acme/mounts/shared',
    json: { tenant: 'globex', access: 'read_write', prefix: '/memories/a', instructions: NASTY },
  },
  post('keys', { kind: 'admin', ...KEY, tenants: ['acme', 'globex'] }),
  post('keys', { kind: 'tenant', tenant: 'acme', ...KEY, source: 'web' }),
  post('keys', { kind: 'service', ...KEY, access: 'read_write', manages_stores: true }),
  post('keys', {
    kind: 'tenant',
    tenant: 'acme',
    ...KEY,
    rights: [
      { path: "/memories/it's=mine", access: 'none' },
      { path: '/memories/shared', access: 'read_only' },
    ],
  }),
  post('keys', { kind: 'tenant', tenant: 'acme', ...KEY, access: 'read_write', can_share: true }),
  patch('keys/key_1', { rights: [{ path: '/memories', access: 'read_only' }] }),
  patch('keys/key_1', { rights: [] }),
  post('tenants/acme/invitations', {
    access: 'propose',
    prefix: '/memories/a b',
    reusable: true,
    expires_in_seconds: 86_400,
  }),
  remove('tenants/acme/invitations/inv_1'),
  post('tenants/acme/shares', {
    token: 'msi_0123456789abcdefghijABCDEFGHIJ0123456789abc',
    name: 'team',
    instructions: NASTY,
  }),
  remove('tenants/acme/shares/shr_1'),
  patch('keys/key_1', { label: "it's", expires_at: null }),
  post('keys/key_1/rotate', { overlap_seconds: 3600 }),
  remove('keys/key_1'),
  post('webhooks', {
    tenant: 'acme',
    url: "https://a.example/?it's",
    types: ['deleted'],
    path: '/memories/a b',
    content: true,
  }),
  post('webhooks', { tenant: null, url: 'https://a.example/', types: null, path: null }),
  patch('webhooks/wh_1', { enabled: true }),
  patch('webhooks/wh_1', { enabled: false }),
  post('webhooks/wh_1/rotate', { overlap_seconds: 0 }),
  post('webhooks/wh_1/redeliver', { since: '2026-11-26T00:00:00.000Z' }),
  remove('webhooks/wh_1'),
  post('tenants/acme/revert', {
    by: NASTY,
    since: '2026-11-26T00:00:00.000000Z',
    dry_run: false,
    plan: 'a'.repeat(64),
  }),
  findRequest({
    text: NASTY,
    mode: 'literal',
    exact: true,
    ignore_case: true,
    in: 'content',
    places: ['current', 'drafts'],
    by: '-x',
    since: '1d',
    tenants: {
      search: 'a b',
      status: 'active',
      metadata: { plan: 'p r=o' },
      except: ['-a', 'b'],
      found_by: ID,
    },
  }),
  findRequest({
    text: 'a',
    mode: 'words',
    exact: false,
    ignore_case: false,
    in: 'both',
    places: ['current'],
    tenants: { ids: ['a', 'b'] },
  }),
  undoRequest({ source: 'web', since: '2h', tenants: {} }),
  post('erase', {
    text: NASTY,
    ignore_case: true,
    replacement: '',
    keep_out: true,
    tenants: {},
    dry_run: false,
  }),
  post('erase', {
    text: 'abc',
    ignore_case: false,
    replacement: '-',
    keep_out: false,
    tenants: { ids: ['a'] },
    dry_run: true,
  }),
  post(`jobs/${ID}/cancel`),
  post('kept-out', { text: NASTY, label: "it's" }),
  post('tenants/acme/kept-out', { text: 'secret', label: '' }),
  remove(`tenants/acme/kept-out/${ID}`),
];

it.each(REQUESTS)('copies $method $path as a command that makes the same request', async (request) => {
  const { method, path, json } = await run(request);
  expect([method, path]).toStrictEqual([request.method, `/v1/${request.path}`]);
  expect(json).toMatchObject(request.json ?? {});
});
