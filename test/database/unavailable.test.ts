/** @module-tag long A service that can open no connection to its database, for every kind of reason. */
import { copyFile, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, inject, it } from 'vitest';
import { newApiKey } from '../../src/core/tenants/keys.ts';
import { makeCertificate } from '../support/faults/certificates.ts';
import { PostgresServer } from '../support/faults/postgres-server.ts';
import { memoryCall, requestHeaders, view } from '../support/mcp.ts';
import { installBinaries } from '../support/postgres/binaries.ts';
import { type CliProcess, readAdminUrl, startServer } from '../support/process.ts';

const ROLE = 'memory_service';
const [tenantKey, adminKey] = [newApiKey().key, newApiKey().key];

let directory: string;
let server: PostgresServer;
let hba: string;
let service: CliProcess & { url: string };
let adminUrl: string;

/** Postgres' error code for a database with sessions. */
const OBJECT_IN_USE = '55006';

const query = (sql: string) => server.query(sql);

/** Reloads the server's configuration and waits until new connections use it. */
async function reload(): Promise<void> {
  const loadedAt = async () => String((await query('SELECT pg_conf_load_time()::text AS at'))[0]?.at);
  const before = await loadedAt();
  await query('SELECT pg_reload_conf()');
  while ((await loadedAt()) === before);
}

/** Ends the service's sessions, so that it opens new ones. */
const endSessions = () =>
  query("SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity WHERE datname IN ('memory', 'other')");

/** Runs a statement. A service job may open a session after `endSessions`, and a rename needs that there is none. */
async function runWhenUnused(statement: string): Promise<void> {
  for (;;) {
    try {
      await query(statement);
      return;
    } catch (error) {
      if ((error as { code?: string }).code !== OBJECT_IN_USE) throw error;
      await endSessions();
    }
  }
}

async function change(...statements: string[]): Promise<void> {
  await endSessions();
  for (const statement of statements) await runWhenUnused(statement);
  await reload();
  await endSessions();
}

/** Changes the rules for the service's connections. The test's superuser keeps its access. */
async function changeHba(rule: string): Promise<void> {
  await writeFile(join(server.data, 'pg_hba.conf'), `${rule}\n${hba}`);
  await change();
}

async function useCertificate(name: string): Promise<void> {
  for (const kind of ['crt', 'key'])
    await copyFile(join(directory, `${name}.${kind}`), join(server.data, `server.${kind}`));
  await change();
}

beforeAll(async () => {
  directory = await mkdtemp(join(inject('scratch'), 'unavailable-'));
  const binaries = await installBinaries(directory);
  server = await PostgresServer.create({ binaries, directory: join(directory, 'postgres') });
  const trusted = await Promise.all([
    makeCertificate(directory, 'first'),
    makeCertificate(directory, 'elsewhere', { host: '192.0.2.1' }),
  ]);
  await makeCertificate(directory, 'untrusted');
  const bundle = join(directory, 'trusted.crt');
  await writeFile(
    bundle,
    (await Promise.all(trusted.map(({ certificate }) => readFile(certificate)))).join(''),
  );
  await makeCertificate(server.data, 'server');
  await useCertificate('first');
  hba = await readFile(join(server.data, 'pg_hba.conf'), 'utf8');
  await change("ALTER SYSTEM SET ssl = 'on'", "ALTER SYSTEM SET ssl_ca_file = 'server.crt'");
  await query(`CREATE ROLE ${ROLE} LOGIN PASSWORD 'right'`);
  await query(`CREATE DATABASE memory OWNER ${ROLE}`);
  const url = `postgres://${ROLE}:right@127.0.0.1:${server.port}/memory?sslmode=verify-full&sslrootcert=${bundle}`;
  service = await startServer({
    DATABASE_URL: url,
    AUTH: 'keys',
    ADMIN_PORT: '0',
    BOOTSTRAP: JSON.stringify({
      keys: [
        { tenant: 'acme', key: tenantKey },
        { admin: true, key: adminKey },
      ],
    }),
  });
  adminUrl = await readAdminUrl(service);
});
afterAll(async () => {
  service.child.kill('SIGTERM');
  expect(await service.exit).toBe(0);
  await server.stop();
  await rm(directory, { recursive: true });
});

const bearer = (key: string) => ({ authorization: `Bearer ${key}`, 'content-type': 'application/json' });

/** A request to each API and a probe. */
const requests: Record<string, () => Promise<Response>> = {
  execute: () =>
    fetch(`${service.url}/execute`, {
      method: 'POST',
      headers: bearer(tenantKey),
      body: JSON.stringify({ command: 'view', path: '/memories' }),
    }),
  mcp: () =>
    fetch(`${service.url}/mcp`, {
      method: 'POST',
      headers: requestHeaders(tenantKey),
      body: JSON.stringify(memoryCall({ ...view, path: '/memories' })),
    }),
  stores: () => fetch(`${service.url}/v1/memory_stores/acme/memories`, { headers: bearer(tenantKey) }),
  admin: () => fetch(`${adminUrl}/v1/tenants/acme`, { headers: bearer(adminKey) }),
  audited: () =>
    fetch(`${adminUrl}/v1/tenants/acme`, {
      method: 'PATCH',
      headers: bearer(adminKey),
      body: '{"settings":{"max_files":9}}',
    }),
  ready: () => fetch(`${service.url}/readyz`),
};

/** Returns the statuses for all requests, with `Retry-After` and the error code if present. */
async function statuses() {
  const all = Object.entries(requests).map(async ([name, send]) => {
    const response = await send();
    const body = await response.text();
    const code = response.status === 503 && name !== 'stores' ? JSON.parse(body).code : undefined;
    return [name, [response.status, response.headers.get('retry-after'), code]];
  });
  return Object.fromEntries(await Promise.all(all));
}

const UNAVAILABLE = [503, '2', 'database_unavailable'];
const OK = [200, null, undefined];

const alterRole = (settings: string) => () => change(`ALTER ROLE ${ROLE} ${settings}`);
const alterDatabase = (settings: string) => () => change(`ALTER DATABASE memory ${settings}`);
const resetHba = () => changeHba('');

const PASSWORD =
  'it rejects the user or the password; check both in DATABASE_URL, where special characters must be percent-encoded';
const REJECTED =
  "it rejects this user from this address; check DATABASE_URL and the server's pg_hba.conf, and add sslmode=verify-full if the server requires TLS";
const FULL =
  'it accepts no more connections; lower DB_POOL_MAX, or raise the limit of the server, database, or role';

type Cause = [cause: string, begin: () => Promise<unknown>, end: () => Promise<unknown>, reason: string];
const causes: Cause[] = [
  ['the password changes', alterRole("PASSWORD 'other'"), alterRole("PASSWORD 'right'"), PASSWORD],
  [
    'the password expires',
    alterRole("VALID UNTIL '2020-01-01'"),
    alterRole("VALID UNTIL 'infinity'"),
    PASSWORD,
  ],
  [
    'the role is renamed',
    alterRole('RENAME TO other'),
    () => change(`ALTER ROLE other RENAME TO ${ROLE}`),
    PASSWORD,
  ],
  ['the role may not log in', alterRole('NOLOGIN'), alterRole('LOGIN'), REJECTED],
  ['pg_hba.conf rejects the role', () => changeHba(`host all ${ROLE} all reject`), resetHba, REJECTED],
  ['a client certificate is required', () => changeHba(`hostssl all ${ROLE} all cert`), resetHba, REJECTED],
  ['the role reaches its limit', alterRole('CONNECTION LIMIT 0'), alterRole('CONNECTION LIMIT -1'), FULL],
  [
    'the database reaches its limit',
    alterDatabase('CONNECTION LIMIT 0'),
    alterDatabase('CONNECTION LIMIT -1'),
    FULL,
  ],
  [
    'the database is closed',
    alterDatabase('ALLOW_CONNECTIONS false'),
    alterDatabase('ALLOW_CONNECTIONS true'),
    'the database accepts no connections (ALTER DATABASE … ALLOW_CONNECTIONS)',
  ],
  [
    'the database is renamed',
    alterDatabase('RENAME TO other'),
    () => change('ALTER DATABASE other RENAME TO memory'),
    'there is no such database on the server; create it, or check DATABASE_URL',
  ],
  [
    'the role loses the right to connect',
    () => change('ALTER DATABASE memory OWNER TO postgres', 'REVOKE CONNECT ON DATABASE memory FROM PUBLIC'),
    () => change('GRANT CONNECT ON DATABASE memory TO PUBLIC', `ALTER DATABASE memory OWNER TO ${ROLE}`),
    'the user has no permission to connect to the database; GRANT CONNECT ON DATABASE … TO the user',
  ],
  [
    'a library of the role is missing',
    alterRole("SET session_preload_libraries = 'missing'"),
    alterRole('RESET session_preload_libraries'),
    'SQLSTATE 58P01; check DATABASE_URL, and the log of the server',
  ],
  [
    'the server turns TLS off',
    () => change("ALTER SYSTEM SET ssl = 'off'"),
    () => change("ALTER SYSTEM SET ssl = 'on'"),
    'it does not offer TLS; turn TLS on there, or, where the network is trusted, use sslmode=disable in DATABASE_URL',
  ],
  [
    'the certificate is of an unknown CA',
    () => useCertificate('untrusted'),
    () => useCertificate('first'),
    'its TLS certificate is not signed by a CA that this process trusts; name the file with the certificate of its CA: add sslrootcert=FILE to the query of DATABASE_URL, or set NODE_EXTRA_CA_CERTS=FILE',
  ],
  [
    'the certificate is for another host',
    () => useCertificate('elsewhere'),
    () => useCertificate('first'),
    'its TLS certificate is for another host name; use a name of the certificate in DATABASE_URL, or issue a certificate for this name',
  ],
  [
    'the server is down',
    () => server.stop(),
    () => server.start(),
    'nothing listens there; check DATABASE_URL, and that the server runs',
  ],
];

it.each(causes)(
  'responds with 503 while %s, logs the cause once, and recovers',
  async (_, begin, end, reason) => {
    const earlier = service.output().length;
    const loggedErrors = () =>
      service
        .output()
        .slice(earlier)
        .split('\n')
        .filter((line) => line !== '')
        .map((line) => JSON.parse(line))
        // A starting server reports a different reason.
        .filter((line) => line.msg.includes('connection') && [reason, undefined].includes(line.reason))
        .map((line) => [line.level, line.msg, line.reason]);
    await begin();
    for (let round = 0; round < 2; round++) {
      expect(await statuses()).toStrictEqual({
        execute: UNAVAILABLE,
        mcp: UNAVAILABLE,
        stores: [503, '2', undefined],
        admin: UNAVAILABLE,
        audited: UNAVAILABLE,
        ready: UNAVAILABLE,
      });
    }
    await end();
    expect(await statuses()).toStrictEqual({
      execute: OK,
      mcp: OK,
      stores: OK,
      admin: OK,
      audited: OK,
      ready: OK,
    });
    await expect.poll(loggedErrors).toStrictEqual([
      ['error', 'no connection to the database can be opened: requests that need one get 503', reason],
      ['info', 'connections to the database can be opened again', undefined],
    ]);
    expect(service.output()).not.toMatch(/right|wrong/);
  },
);
