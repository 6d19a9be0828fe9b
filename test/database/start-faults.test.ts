/** @module-tag long A service and a command whose database cannot be used: one line says why, and what to do. */
import { copyFile, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, inject, it } from 'vitest';
import { makeCertificate } from '../support/faults/certificates.ts';
import { PostgresServer } from '../support/faults/postgres-server.ts';
import { installBinaries } from '../support/postgres/binaries.ts';
import { startCli } from '../support/process.ts';

let directory: string;
let plain: PostgresServer;
let secure: PostgresServer;

beforeAll(async () => {
  directory = await mkdtemp(join(inject('scratch'), 'start-faults-'));
  const binaries = await installBinaries(directory);
  const create = (name: string, settings: string[]) =>
    PostgresServer.create({ binaries, directory: join(directory, name), settings });
  [plain, secure] = await Promise.all([create('plain', []), create('secure', [])]);
  await makeCertificate(secure.data, 'server');
  await copyFile(join(secure.data, 'server.crt'), join(directory, 'ca.crt'));
  await writeFile(join(directory, 'not.pem'), 'no PEM');
  await secure.query("ALTER SYSTEM SET ssl = 'on'");
  const hba = await readFile(join(secure.data, 'pg_hba.conf'), 'utf8');
  await writeFile(
    join(secure.data, 'pg_hba.conf'),
    `hostssl all ada all scram-sha-256\nhost all ada all reject\n${hba}`,
  );
  await secure.stop();
  await secure.start();
  await secure.query("CREATE ROLE ada LOGIN PASSWORD 'right'");
  await secure.query('CREATE DATABASE memory OWNER ada');
  await plain.query("CREATE DATABASE latin ENCODING 'LATIN1' LOCALE 'C' TEMPLATE template0");
  await plain.query("CREATE DATABASE bytes ENCODING 'SQL_ASCII' LOCALE 'C' TEMPLATE template0");
});
afterAll(async () => {
  await Promise.all([plain.stop(), secure.stop()]);
  await rm(directory, { recursive: true });
});

const CA =
  'name the file with the certificate of its CA: add sslrootcert=FILE to the query of DATABASE_URL, or set NODE_EXTRA_CA_CERTS=FILE';
const NO_TLS =
  'it does not offer TLS; turn TLS on there, or, where the network is trusted, use sslmode=disable in DATABASE_URL';
const UNTRUSTED = `its TLS certificate is not signed by a CA that this process trusts; ${CA}`;
const NO_PASSWORD =
  'it asks for a password, and DATABASE_URL has none; use postgres://user:password@host/database, or set PGPASSWORD';
const file = (name: string) => join(directory, name);

it.each<[fault: string, url: () => string, reason: string]>([
  ['sslmode=require to a server without TLS', () => `${plain.url()}?sslmode=require`, NO_TLS],
  ['sslmode=prefer to a server without TLS', () => `${plain.url()}?sslmode=prefer`, NO_TLS],
  ['sslmode=verify-full to a server without TLS', () => `${plain.url()}?sslmode=verify-full`, NO_TLS],
  ['a self-signed certificate', () => `${secure.url()}?sslmode=require`, UNTRUSTED],
  [
    'a missing file of sslrootcert',
    () => `${secure.url()}?sslmode=verify-full&sslrootcert=/none/ca.crt`,
    'the file of sslrootcert, sslcert, or sslkey in DATABASE_URL cannot be read (ENOENT); check its path and permissions',
  ],
  [
    'a directory as sslrootcert',
    () => `${secure.url()}?sslmode=verify-full&sslrootcert=/`,
    'the file of sslrootcert, sslcert, or sslkey in DATABASE_URL cannot be read (EISDIR); check its path and permissions',
  ],
  [
    'a file of sslrootcert that is no certificate',
    () => `${secure.url()}?sslmode=verify-full&sslrootcert=${file('not.pem')}`,
    UNTRUSTED,
  ],
  [
    'verify-ca of libpq without a CA',
    () => `${secure.url()}?uselibpqcompat=true&sslmode=verify-ca`,
    `sslmode=verify-ca needs a CA; ${CA}`,
  ],
  [
    'SCRAM without a password',
    () => `postgres://ada@127.0.0.1:${secure.port}/memory?sslmode=require&sslrootcert=${file('ca.crt')}`,
    NO_PASSWORD,
  ],
  [
    'SCRAM with a wrong password',
    () =>
      `postgres://ada:wrong@127.0.0.1:${secure.port}/memory?sslmode=require&sslrootcert=${file('ca.crt')}`,
    'it rejects the user or the password; check both in DATABASE_URL, where special characters must be percent-encoded',
  ],
  [
    'a server that requires TLS',
    () => `postgres://ada:right@127.0.0.1:${secure.port}/memory`,
    "it rejects this user from this address; check DATABASE_URL and the server's pg_hba.conf, and add sslmode=verify-full if the server requires TLS",
  ],
])('explains in one line, without the password, why the service cannot start: %s', async (_, url, reason) => {
  const { port, pathname } = new URL(url());
  const line = `memory-service: The database at 127.0.0.1:${port}${pathname} cannot be used: ${reason}.`;
  for (const command of ['serve', 'migrate', 'usage']) {
    const cli = startCli([command], { DATABASE_URL: url() });
    expect([command, await cli.exit, cli.output()]).toStrictEqual([command, 1, line]);
  }
});

it.each([
  ['latin', 'LATIN1'],
  ['bytes', 'SQL_ASCII'],
])('rejects the database %s because its encoding is %s', async (database, encoding) => {
  const url = plain.url(plain.port, database);
  const line = `memory-service: Cannot use the database at 127.0.0.1:${plain.port}/${database}: its encoding is ${encoding}, and the service needs UTF8. Create a database with: createdb --encoding UTF8 --locale C --template template0 NAME`;
  for (const args of [
    ['serve'],
    ['migrate'],
    ['usage'],
    ['migrate-data', '--from', url, '--to', file('copy')],
  ]) {
    const cli = startCli(args, { DATABASE_URL: url });
    expect([await cli.exit, cli.output()]).toStrictEqual([1, line]);
  }
  expect(
    await plain.query(
      'SELECT relname FROM pg_class WHERE relkind = $1 AND relnamespace = 2200',
      ['r'],
      database,
    ),
  ).toStrictEqual([]);
});

it('reads the certificate in sslrootcert for every sslmode, and prints no warning', async () => {
  const url = `postgres://ada:right@127.0.0.1:${secure.port}/memory?sslrootcert=${file('ca.crt')}`;
  for (const mode of ['prefer', 'require', 'verify-ca', 'verify-full']) {
    const cli = startCli(['migrate'], { DATABASE_URL: `${url}&sslmode=${mode}` });
    expect([mode, await cli.exit, cli.output()]).toStrictEqual([
      mode,
      0,
      `The database at 127.0.0.1:${secure.port}/memory is up to date.`,
    ]);
  }
  const { exit, output } = startCli(['usage'], {
    DATABASE_URL: `postgres://ada:right@127.0.0.1:${secure.port}/memory?sslmode=verify-full`,
    NODE_EXTRA_CA_CERTS: file('ca.crt'),
  });
  expect([await exit, output()]).toStrictEqual([
    0,
    'TENANTS  FILES  SIZE  VERSIONS  HISTORY\n      0      0   0 B         0      0 B',
  ]);
});
