/** `migrate-data`: moves a whole embedded database to Postgres and back. */

import { mkdtemp, readdir } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { Readable } from 'node:stream';
import { is } from 'drizzle-orm';
import { getTableConfig, PgTable } from 'drizzle-orm/pg-core';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { loadConfig } from '../../src/core/config.ts';
import type { Database } from '../../src/core/database/database.ts';
import { openDatabase, openPlace } from '../../src/core/database/open-database.ts';
import { parseQuery } from '../../src/core/database/query.ts';
import * as schema from '../../src/core/database/schema/index.ts';
import { migrateData } from '../../src/features/archive/migrate-data.ts';
import { runProgram } from '../../src/service/program.ts';
import { CollectedOutput } from '../support/collected-output.ts';
import { startCli } from '../support/process.ts';
import { runOn } from '../support/run-program.ts';
import { cmd } from '../support/step-table.ts';
import { copyPgliteTemplate, createTestDatabase } from '../support/test-database.ts';
import { startService } from '../support/test-service.ts';

/** All tables except the change log, which is not migrated. */
const TABLES = Object.values(schema)
  .flatMap((each) => (is(each, PgTable) ? [getTableConfig(each).name] : []))
  .filter((name) => !name.startsWith('change_'));

const openAt = (place: string): Promise<Database> =>
  openDatabase(
    loadConfig({
      ...(place.startsWith('postgres') ? { DATABASE_URL: place } : { DATA_DIR: place }),
      DB_CONNECT_TIMEOUT_MS: '60s',
    }),
  );

/** The filled embedded database. It is kept open, because PGlite takes seconds to start. */
let source: Database;

/** Runs `work` on the database at a URL or in a directory. */
async function withDatabase<T>(place: string, work: (database: Database) => Promise<T>): Promise<T> {
  if (place === directory) return work(source);
  const database = await openAt(place);
  try {
    return await work(database);
  } finally {
    await database.close();
  }
}

const run = (database: Database, sql: string) => database.query(parseQuery('', sql), {});
const queryRows = async (database: Database, sql: string) =>
  (await run(database, sql)).rows as unknown as Record<string, unknown>[];

/** Returns each table's sorted rows as JSON in UTC, without the records that `migrate-data` itself keeps, and without key events. */
function readContents(place: string): Promise<Record<string, unknown[]>> {
  return withDatabase(place, (database) =>
    database.transaction(async (query) => {
      await query(parseQuery('utc', "SET LOCAL TIME ZONE 'UTC'"), {});
      const contents: Record<string, unknown[]> = {};
      for (const table of TABLES) {
        const sql = `SELECT to_jsonb(t)::text AS row FROM ${table} AS t`;
        const { rows } = await query(parseQuery<Record<string, never>, { row: string }>('', sql), {});
        contents[table] = rows
          .map(({ row }) => JSON.parse(row))
          .filter(({ action, tenant_id: tenant }) => action !== 'migrateData' && tenant !== '')
          .sort((a, b) => (JSON.stringify(a) < JSON.stringify(b) ? -1 : 1));
      }
      return contents;
    }),
  );
}

async function migrateDataCommand(...args: string[]) {
  const [stdout, stderr] = [new CollectedOutput(false), new CollectedOutput(false)];
  const rejectDatabase = () => Promise.reject(new Error('not that database'));
  const env = { DB_CONNECT_TIMEOUT_MS: '60s' };
  const code = await runProgram(['migrate-data', ...args], {
    version: '1.2.3',
    connectLocally: rejectDatabase,
    openMigrated: rejectDatabase,
    serve: async () => {},
    openPlace: async (place, { migrate }) =>
      place === directory
        ? { ...source, close: async () => {} }
        : openPlace(env, place, { migrate, notify: () => {} }),
    io: { stdin: Readable.from([]), stdout, stderr },
  });
  return { code, stdout: stdout.text, stderr: stderr.text };
}

const FILES: Record<string, string> = {
  '/memories/empty': '',
  '/memories/mark': '\u{feff}begins with a mark',
  '/memories/odd {a,"b"}': 'NULL\n{NULL,"x\\"}\r\n\t\\N\u{1f600}\u2028',
  '/memories/d/e/f.md': 'one\ntwo\nthree\n'.repeat(50),
};

/** Fills an embedded database with rows in every table. */
async function fill(directory: string): Promise<void> {
  const service = await startService('pglite', { DATA_DIR: directory, READ_LOG_DAYS: '30' });
  const as = { tenant: 'acme' };
  for (const [path, text] of Object.entries(FILES)) {
    expect(await service.execute(cmd.create(path, text), as)).toMatchObject({ is_error: false });
  }
  await service.execute(cmd.replace('/memories/d/e/f.md', 'one\ntwo\nthree\none', 'uno'), as);
  await service.execute(cmd.rename('/memories/d', '/memories/g'), as);
  await service.execute(cmd.view('/memories/empty'), as);
  await service.execute(cmd.delete('/memories/mark'), {
    ...as,
    headers: { 'idempotency-key': 'once' },
  });
  await service.execute(cmd.create('/memories/a', 'of another tenant'), { tenant: 'zeta' });
  await runOn(service, [
    'tenants',
    'create',
    'empty',
    '--max-bytes',
    '10MB',
    '--secrets',
    'mask',
    '--name',
    'Ünï',
  ]);
  await runOn(service, ['drafts', 'create', 'acme', '--title', 'Tidied up']);
  await runOn(service, ['find', '--tenant', 'acme', '/memories']);
  await runOn(service, ['tenants', 'suspend', 'zeta']);
  await runOn(service, ['keys', 'create', '--tenant', 'acme', '--label', 'worker', '--expires', '90d']);
  await runOn(service, ['keys', 'create', '--admin', '--only-tenants', 'acme,zeta']);
  await runOn(service, ['redact', 'acme', '/memories/mark', '--yes']);
  await service.query(`INSERT INTO tenant_usage VALUES ('acme', '2026-11-01', 1, 2, 3, 4, 5, 6)`);
  await service.query(
    `INSERT INTO installation (id, secret, secret_id) VALUES ('installation', '\\x0102', 'ab')`,
  );
  await service.query(
    `INSERT INTO kept_out (id, tenant_id, hash, prefix, tokens, created_by)
     VALUES ('0b9ee7d4-2f6e-4e5f-8f5e-0c8f6a1d9b52', 'acme', '\\xff00', -7, 3, '{"type":"anonymous"}')`,
  );
  await service.query(
    `INSERT INTO ended_sessions VALUES ('0b9ee7d4-2f6e-4e5f-8f5e-0c8f6a1d9b54', now() + interval '1 day')`,
  );
  await service.query(
    `INSERT INTO receipts VALUES ('0b9ee7d4-2f6e-4e5f-8f5e-0c8f6a1d9b53', now(), 'acme', '{"id":1}', 'c2ln', 'ab', 'PEM')`,
  );
  await service.query(
    `INSERT INTO webhooks (id, tenant_id, url, secret, types, content, cursor, created_at, next_attempt_at)
     VALUES ('wh_1', 'acme', 'https://example.com', 'whsec_YQ==', '{created}', true, 'e30', now(), now())`,
  );
  await service.query(
    `INSERT INTO webhook_deliveries VALUES ('wh_1', now(), '0b9ee7d4-2f6e-4e5f-8f5e-0c8f6a1d9b55', 'msg_1', 'file.created', 'acme', 204, NULL, 12)`,
  );
  await service.query(
    `INSERT INTO invitations (id, hash, tenant_id, access, prefix, is_reusable, created_at, expires_at)
     VALUES ('inv_1', 'aa', 'acme', 'read_only', '/memories/a', true, now(), now() + interval '1 day')`,
  );
  await service.query(
    `INSERT INTO shares VALUES ('shr_1', 'acme', 'globex', 'inv_1', 'aa', 'read_only', '/memories/a', now())`,
  );
  await service.app.activity.flush();
  await service.query(`INSERT INTO fleet_usage VALUES ('2026-11-01', 3, 1, 5, 2, 3)`);
  await service.close();
}

let directory: string;
let filled: Record<string, unknown[]>;
const databases: { drop(): Promise<void> }[] = [];

async function newDatabase(options: { migrated: boolean }): Promise<string> {
  const made = await createTestDatabase(options);
  databases.push(made);
  return made.url;
}

beforeAll(async () => {
  directory = await copyPgliteTemplate();
  await fill(directory);
  source = await openAt(directory);
  filled = await readContents(directory);
});
afterAll(async () => {
  await source.close();
  await Promise.all(databases.map((each) => each.drop()));
});

const newDirectory = async () => join(await mkdtemp(join(inject('scratch'), 'moved-')), 'data');
const rowsIn = (contents: Record<string, unknown[]>) =>
  Object.fromEntries(Object.entries(contents).map(([table, rows]) => [table, rows.length]));

describe('migrate-data', () => {
  it('moves every row in every table to Postgres', async () => {
    // Add rows here for each new table.
    expect(Object.entries(rowsIn(filled)).filter(([, rows]) => rows === 0)).toStrictEqual([]);
    const url = await newDatabase({ migrated: false });
    const there = await migrateDataCommand('--from', directory, '--to', url);
    expect(there).toMatchObject({ code: 0, stderr: expect.stringContaining('Copied 4 of 4 tenants, ') });
    expect(there.stdout).toMatch(
      /^Both databases have 4 tenants with \d+ rows, [\d.]+ KB: compared by number and SHA-256\.\n$/,
    );
    expect(await readContents(url)).toStrictEqual(filled);
  });

  it('moves all rows back, and compares them with the source by hashes', { tags: 'long' }, async () => {
    const url = await newDatabase({ migrated: true });
    expect(await migrateDataCommand('--from', directory, '--to', url)).toMatchObject({ code: 0 });
    const copy = await newDirectory();
    // One database may be idle for a long time while the other reads a large tenant.
    const patient = await openPlace({ DB_CONNECT_TIMEOUT_MS: '60s' }, url, {
      migrate: false,
      notify: () => {},
    });
    expect(await queryRows(patient, 'SHOW idle_in_transaction_session_timeout')).toStrictEqual([
      { idle_in_transaction_session_timeout: '0' },
    ]);
    await patient.close();
    expect(await migrateDataCommand('--from', url, '--to', copy)).toMatchObject({ code: 0 });
    expect(await readContents(copy)).toStrictEqual(filled);
    const again = await migrateDataCommand('--from', directory, '--to', url, '--json');
    expect(JSON.parse(again.stdout)).toMatchObject({ tenants: 4, already_there: 4 });
    const back = await migrateDataCommand('--from', directory, '--to', copy, '--json');
    expect(JSON.parse(back.stdout)).toStrictEqual(JSON.parse(again.stdout));
    expect(JSON.parse(again.stdout).tables).toContainEqual({
      table: 'entries',
      rows: filled.entries?.length,
      sha256: expect.stringMatching(/^[0-9a-f]{64}$/),
    });
    expect(await readContents(url)).toStrictEqual(filled);
    const audit = await withDatabase(url, (database) =>
      queryRows(
        database,
        "SELECT outcome, details FROM audit_events WHERE action = 'migrateData' ORDER BY at LIMIT 1",
      ),
    );
    expect(audit).toStrictEqual([
      { outcome: 'ok', details: expect.objectContaining({ tenants: 4, already_there: 0 }) },
    ]);
  });

  it('rejects a target that has other data for a tenant, before any change', { tags: 'long' }, async () => {
    const url = await newDatabase({ migrated: true });
    await withDatabase(url, (database) =>
      run(database, "INSERT INTO tenants (id) VALUES ('zeta'), ('other')"),
    );
    const before = await readContents(url);
    expect(await migrateDataCommand('--from', directory, '--to', url)).toStrictEqual({
      code: 1,
      stdout: '',
      stderr:
        'memory-service: The target already has tenant zeta, with different data. Nothing was changed. Use an empty database, or delete what is not needed there, for example with: memory-service tenants delete\n',
    });
    expect(await readContents(url)).toStrictEqual(before);
    // Other tenants in the target do not prevent the copy.
    await withDatabase(url, (database) => run(database, "DELETE FROM tenants WHERE id = 'zeta'"));
    expect(await migrateDataCommand('--from', directory, '--to', url)).toMatchObject({ code: 0 });
    const { tenants, ...rest } = await readContents(url);
    expect(tenants).toHaveLength(5);
    expect({ ...rest, tenants: filled.tenants }).toStrictEqual(filled);
  });

  it("rejects a target where a tenant's rows or a key differ from the source", { tags: 'long' }, async () => {
    const url = await newDatabase({ migrated: true });
    expect(await migrateDataCommand('--from', directory, '--to', url)).toMatchObject({ code: 0 });
    const stderr = async () => (await migrateDataCommand('--from', directory, '--to', url)).stderr;
    await withDatabase(url, (database) =>
      run(
        database,
        "UPDATE versions SET operation = 'modified' WHERE tenant_id = 'acme' AND operation = 'created'",
      ),
    );
    expect(await stderr()).toContain('The target already has tenant acme, with different data.');
    await withDatabase(url, (database) =>
      run(database, "UPDATE api_keys SET label = 'other' WHERE label = 'worker'"),
    );
    expect(await stderr()).toContain(
      'The target already has an API key with the same secret, with different data',
    );
  });

  it('continues an interrupted migration at the first tenant that is missing in the target', {
    tags: 'long',
  }, async () => {
    const url = await newDatabase({ migrated: true });
    await withDatabase(directory, (source) =>
      withDatabase(url, async (target) => {
        const failing = failAfter(target, 'migrate_insert_versions', 1);
        await expect(migrateData(source, failing, () => {})).rejects.toThrow('interrupted');
      }),
    );
    const half = await readContents(url);
    // The interrupted tenant was rolled back.
    expect(rowsIn(half)).toMatchObject({ tenants: 0, entries: 0, versions: 0, api_keys: 0 });
    await withDatabase(directory, (source) =>
      withDatabase(url, async (target) => {
        const failing = failAfter(target, 'migrate_insert_tenants', 2);
        await expect(migrateData(source, failing, () => {})).rejects.toThrow('interrupted');
      }),
    );
    expect(rowsIn(await readContents(url))).toMatchObject({ tenants: 1, api_keys: 0 });
    const { stdout } = await migrateDataCommand('--from', directory, '--to', url, '--json');
    expect(JSON.parse(stdout)).toMatchObject({ tenants: 4, already_there: 1 });
    expect(await readContents(url)).toStrictEqual(filled);
  });

  it('rolls back if the copied rows differ from the source', { tags: 'long' }, async () => {
    const url = await newDatabase({ migrated: true });
    await withDatabase(directory, (source) =>
      withDatabase(url, async (target) => {
        await expect(migrateData(source, loseCommit(target), () => {})).rejects.toThrow(
          /^The copy does not match the source: public\.versions has \d+ of \d+ rows, or different values\. It was not committed\.$/,
        );
      }),
    );
    expect(rowsIn(await readContents(url))).toMatchObject({ tenants: 0, entries: 0, versions: 0 });
  });

  it('explains why a source or a target is invalid', { tags: 'long' }, async () => {
    const stderr = async (...args: string[]) => (await migrateDataCommand(...args)).stderr;
    const none = await newDirectory();
    expect(await stderr('--from', none, '--to', directory)).toBe(
      `memory-service: There is no embedded database in ${none}.\n`,
    );
    await expect(readdir(none)).rejects.toThrow('ENOENT');
    expect(await stderr('--from', directory, '--to', directory)).toBe(
      'memory-service: The source and the target are the same database.\n',
    );
    expect(await stderr('--from', directory, '--to', `${directory}/../${basename(directory)}/`)).toBe(
      'memory-service: The source and the target are the same database.\n',
    );
    for (const place of ['mysql://user:secret@localhost/memory', 'POSTGRES://user:secret@localhost/memory']) {
      const words =
        'that this command knows: name a directory, or a URL like postgres://user:password@host:5432/database.';
      const message = `memory-service: There is no database behind ${place.split('user')[0]} ${words}\n`;
      expect(await stderr('--from', directory, '--to', place)).toBe(message);
      expect(await stderr('--from', place, '--to', none)).toBe(message);
    }
    const unmigrated = await newDatabase({ migrated: false });
    expect(await stderr('--from', unmigrated, '--to', none)).toContain(
      'is not set up for this version. Run memory-service migrate, or start the service.',
    );
    // This process holds the lock.
    const cli = startCli(['migrate-data', '--from', directory, '--to', unmigrated], {});
    expect(await cli.exit).toBe(1);
    expect(cli.output()).toBe(
      `memory-service: A process uses the embedded database in ${directory}. Stop the service first, because its later writes would be missing.`,
    );
  });
});

/** Returns a database in which the `count`-th execution of a statement fails and ends the transaction. */
function failAfter(database: Database, name: string, count: number): Database {
  let left = count;
  return {
    ...database,
    transaction: (work, options) =>
      database.transaction(
        (query) =>
          work((statement, params) => {
            if (statement.name === name && --left === 0) throw new Error('interrupted');
            return query(statement, params);
          }),
        options,
      ),
  };
}

/** Returns a database that loses the last row in each insertion of versions. */
function loseCommit(database: Database): Database {
  return {
    ...database,
    transaction: (work, options) =>
      database.transaction(
        (query) =>
          work((statement, params) => {
            if (statement.name !== 'migrate_insert_versions') return query(statement, params);
            const fewer = Object.entries(params).map(([key, value]) => [
              key,
              Array.isArray(value) ? value.slice(0, -1) : value,
            ]);
            return query(statement, Object.fromEntries(fewer));
          }),
        options,
      ),
  };
}
