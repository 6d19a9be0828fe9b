/**
 * Databases from other versions: each release's database is upgraded while the release still writes, and databases that
 * cannot be upgraded are rejected.
 */
import { randomUUID } from 'node:crypto';
import { mkdtemp } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, describe, expect, inject, it } from 'vitest';
import { loadConfig } from '../../src/core/config.ts';
import type { Database } from '../../src/core/database/database.ts';
import { migrate, schemaState } from '../../src/core/database/migrate.ts';
import { openDatabase, openSession } from '../../src/core/database/open-database.ts';
import { parseQuery, type Value } from '../../src/core/database/query.ts';
import { History } from '../../src/core/history/history.ts';
import { assertInvariants, readTree } from '../support/invariants.ts';
import { type Release, releaseExecutor, releases } from '../support/releases.ts';
import { cmd } from '../support/step-table.ts';
import { createTestDatabase } from '../support/test-database.ts';
import { type Backend, startService } from '../support/test-service.ts';

const cleanups: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

/** Returns the settings for a database without a schema. */
async function emptyDatabase(kind: Backend): Promise<Record<string, string>> {
  if (kind === 'pglite') return { DATA_DIR: await mkdtemp(join(inject('scratch'), 'upgrade-')) };
  const { url, drop } = await createTestDatabase({ migrated: false });
  cleanups.push(drop);
  return { DATABASE_URL: url, DB_CONNECT_TIMEOUT_MS: '60000' };
}

const run = (database: Database, sql: string) => database.query(parseQuery('upgrade_test', sql), {});

/** Makes the database's functions appear older than the functions in this checkout. */
const AGE = `CREATE OR REPLACE FUNCTION memory_functions_version() RETURNS integer LANGUAGE sql IMMUTABLE AS 'SELECT 0'`;

const TENANT = 'acme';
const SERVICE: Record<string, Value> = {
  tenant: TENANT,
  autoCreate: true,
  origin: '{"actor":{"type":"anonymous"}}',
  wait: true,
  keyHash: null,
  createdAt: null,
  requestHash: null,
  result: null,
  maxFiles: 0,
  maxBytes: 0,
  historyDays: 90,
  maxHistoryBytes: 0,
  maxPathBytes: 1024,
  maxDepth: 20,
};

/** Writes by a release with its own statements. */
function releaseWrites(release: Release, database: Database) {
  const send = releaseExecutor(release, database.query);
  const call = async (name: string, values: Record<string, Value>) =>
    (await send(name, { ...SERVICE, version: randomUUID(), change: randomUUID(), ...values }))[0]?.outcome;
  return {
    create: (path: string, content: string) => call('memory_create', { path, content }),
    rename: (from: string, to: string) => call('memory_rename', { from, to }),
    remove: (path: string) => call('memory_delete', { path }),
    recordFailure: (keyHash: string) =>
      call('memory_record_failure', { keyHash, requestHash: 'r', result: 'failed' }),
    /** Inserts a line at the start of a file, and retries after a conflict. */
    async insert(path: string, text: string): Promise<void> {
      for (;;) {
        const [file] = await send('read_file', { tenant: TENANT, path });
        const outcome = await call('memory_write', {
          path,
          readVersion: String(file?.version),
          start: 0,
          removed: 0,
          text,
        });
        if (outcome === 'written') return;
        expect(outcome).toBe('conflict');
      }
    },
  };
}

describe.each(['postgres', 'pglite'] as const)('a database upgrade on %s', (kind) => {
  it.each(releases().map((release) => [release.version, release] as const))(
    'upgrades a database from version %s while that version still writes',
    { tags: kind === 'pglite' ? ['long'] : [] },
    async (version, release) => {
      const env = await emptyDatabase(kind);
      const before = await openDatabase(loadConfig(env));
      await before.migrate(release.migrations, release.functions);
      const first = releaseWrites(release, before);
      expect(await first.create('/memories/d/f.md', 'one\n')).toBe('created');
      await first.insert('/memories/d/f.md', 'zero\n');
      expect(await first.rename('/memories/d/f.md', '/memories/d/g.md')).toBe('renamed');
      expect(await first.create('/memories/gone.md', 'gone')).toBe('created');
      expect(await first.remove('/memories/gone.md')).toBe('deleted');
      expect(await first.recordFailure('k')).toBe('recorded');
      await run(before, AGE);
      expect(await schemaState(before)).toBe('behind');
      // The release's connections stay open with their prepared statements. PGlite has only one process.
      if (kind === 'pglite') await before.close();
      else cleanups.push(() => before.close());

      const service = await startService(kind, env);
      cleanups.unshift(() => service.close());
      expect(await schemaState(service.database)).toBe('current');
      const old = kind === 'pglite' ? service.database : before;
      for (const { name, sql } of release.statements) {
        await service
          .query(`PREPARE upgraded AS ${sql}`)
          .catch((error) => expect.unreachable(`${name} of ${version}: ${error}`));
        await service.query('DEALLOCATE upgraded');
      }

      const f = '/memories/d/g.md';
      const writes = releaseWrites(release, old);
      const execute = async (input: object) => {
        const { content, is_error } = await service.execute(input, { tenant: TENANT });
        expect([content, is_error]).toStrictEqual([content, false]);
      };
      const numbers = Array.from({ length: 20 }, (_, n) => n);
      await Promise.all([
        ...numbers.map((n) => writes.insert(f, `old ${n}\n`)),
        ...numbers.map((n) => execute(cmd.insert(f, 0, `new ${n}\n`))),
        ...numbers.map(async (n) => {
          expect(await writes.create(`/memories/e/${n}`, 'old')).toBe('created');
          await execute(cmd.rename(`/memories/e/${n}`, `/memories/f/${n}`));
          await writes.insert(`/memories/f/${n}`, 'and ');
          await execute(cmd.replace(`/memories/f/${n}`, 'old', 'new'));
          if (n % 2 === 0) expect(await writes.remove(`/memories/f/${n}`)).toBe('deleted');
          else await execute(cmd.delete(`/memories/f/${n}`));
        }),
      ]);

      const lines = numbers.flatMap((n) => [`old ${n}`, `new ${n}`]);
      const content = (await readTree(service, TENANT)).get(f) ?? '';
      expect(content.split('\n').sort()).toStrictEqual([...lines, 'zero', 'one', ''].sort());
      await assertInvariants(service);
      const operations: Record<string, number> = {};
      for await (const each of new History(service.database).versions(TENANT)) {
        operations[each.operation] = (operations[each.operation] ?? 0) + 1;
      }
      expect(operations).toStrictEqual({ created: 22, modified: 81, renamed: 21, deleted: 21 });
    },
  );
});

const TOO_NEW =
  'A newer version of memory-service has migrated the database, and this version cannot run beside it. Use the newer version.';
const UNRELEASED =
  'The database was made by a version of memory-service before 0.1.0, from which there is no upgrade. Export each tenant with the version that made it (memory-service export, without --history), then import the archives into a new database.';

describe('a database that this version cannot use', () => {
  it.each([
    [
      'too_new',
      `CREATE OR REPLACE FUNCTION memory_oldest_compatible_version() RETURNS integer LANGUAGE sql IMMUTABLE AS 'SELECT 1000'`,
      TOO_NEW,
    ],
    // The first migration had this time before the release.
    ['unreleased', 'UPDATE drizzle.__drizzle_migrations SET created_at = 1795207109495', UNRELEASED],
  ])('rejects a database that this version cannot use: %s', async (state, change, message) => {
    const { url, drop } = await createTestDatabase();
    cleanups.push(drop);
    const env = { DATABASE_URL: url, DB_CONNECT_TIMEOUT_MS: '60000' };
    const service = await startService('postgres', env);
    cleanups.push(() => service.close());
    await service.query(change);

    expect(await schemaState(service.database)).toBe(state);
    await expect(migrate(service.database)).rejects.toThrow(message);
    for (const migrates of [true, false]) {
      await expect(openSession(env, { notify: () => {}, migrate: migrates })).rejects.toThrow(message);
    }
    const unready = await service.app.inject('/readyz');
    expect([unready.statusCode, unready.json().code]).toStrictEqual([
      503,
      state === 'too_new' ? 'database_too_new' : 'database_not_migrated',
    ]);
  });
});
