/** The history of a database from before there was one, and of replicas of the release before. */
import { cp, mkdtemp, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { loadConfig } from '../../src/config.ts';
import { History } from '../../src/history/history.ts';
import type { Version } from '../../src/history/version.ts';
import { type Database, openDatabase } from '../../src/postgres/database.ts';
import { MIGRATIONS_FOLDER, migrate } from '../../src/postgres/migrate.ts';
import { defineQuery, type Value } from '../../src/postgres/query.ts';
import { createTestDatabase, isCitus, skipOnCitus } from '../support/database.ts';
import { assertInvariants } from '../support/invariants.ts';
import { type Backend, type Row, type Service, startService } from '../support/service.ts';
import { cmd } from '../support/table.ts';

/** The migrations up to the one before the history's. */
async function olderMigrations(): Promise<string> {
  const folder = await mkdtemp(join(inject('scratch'), 'migrations-'));
  await cp(MIGRATIONS_FOLDER, folder, { recursive: true });
  const file = join(folder, 'meta', '_journal.json');
  const journal = JSON.parse(await readFile(file, 'utf8')) as { entries: { idx: number }[] };
  journal.entries = journal.entries.filter(({ idx }) => idx < 7);
  await writeFile(file, JSON.stringify(journal));
  return folder;
}

async function sql(database: Database, text: string, values: Value[] = []): Promise<Row[]> {
  const names = values.map((_, i) => `p${i}`);
  const params = Object.fromEntries(names.map((name, i) => [name, values[i] as Value]));
  return (await database.query(defineQuery<Record<string, Value>, Row>(text, names, text), params)).rows;
}

async function versionsOf(database: Database, tenant: string): Promise<Version[]> {
  const all: Version[] = [];
  for await (const version of new History(database).versions(tenant)) all.push(version);
  return all.reverse();
}

const V = (n: number) => `00000000-0000-4000-8000-00000000000${n}`;
const FILES = `
  INSERT INTO tenants (id, file_count, byte_count) VALUES ('old', 3, 9);
  INSERT INTO entries (tenant_id, path, parent_path, kind) VALUES
    ('old', '/memories', NULL, 'dir'), ('old', '/memories/d', '/memories', 'dir');
  INSERT INTO entries (tenant_id, path, parent_path, kind, content, version, created_at, updated_at)
  SELECT 'old', '/memories/d/' || f.name, '/memories/d', 'file', f.content, f.version::uuid, '2025-01-01Z', f.updated::timestamptz
  FROM (VALUES ('a', 'aa', '${V(1)}', '2025-02-01Z'), ('b', 'bbb', '${V(2)}', '2001-01-01Z'),
    ('c', 'cccc', '${V(3)}', '2025-03-01Z')) AS f (name, content, version, updated)`;

function upgradeSuite(kind: Backend): void {
  const isSkipped = kind === 'postgres' && isCitus();
  if (isSkipped) skipOnCitus('releases without history did not distribute their tables');
  let service: Service;
  let end = async () => {};

  beforeAll(async () => {
    if (isSkipped) return;
    let env: Record<string, string>;
    if (kind === 'postgres') {
      const own = await createTestDatabase({ migrated: false });
      end = own.drop;
      env = { DATABASE_URL: own.url };
    } else {
      env = { DATA_DIR: await mkdtemp(join(inject('scratch'), 'old-')) };
    }
    const database = await openDatabase(loadConfig({ AUTH: 'none', DB_CONNECT_TIMEOUT_MS: '60000', ...env }));
    try {
      await database.migrate(await olderMigrations(), '');
      for (const statement of FILES.split(';')) await sql(database, statement);
      await migrate(database);
    } finally {
      await database.close();
    }
    service = await startService(kind, env);
  });
  afterAll(async () => {
    if (isSkipped) return;
    await service.close();
    await end();
  });

  it('files from before have a version, by nobody known, of the time of their last change', async () => {
    expect(await versionsOf(service.database, 'old')).toMatchObject([
      { id: V(2), memoryId: V(2), path: '/memories/d/b', createdAt: '2025-01-01T00:00:00.000000Z' },
      { id: V(1), memoryId: V(1), path: '/memories/d/a', createdAt: '2025-02-01T00:00:00.000000Z' },
      {
        ...{ id: V(3), memoryId: V(3), path: '/memories/d/c', createdAt: '2025-03-01T00:00:00.000000Z' },
        ...{ operation: 'created', actor: { type: 'anonymous' }, contentSizeBytes: 4, supersededAt: null },
      },
    ]);
    await assertInvariants(service);
  });

  it('the functions of the release before record, and the newer ones go on from there', async () => {
    const call = async (name: string, ...values: Value[]) => {
      const args = values.map((_, i) => `$${i + 1}`).join(', ');
      const [row] = await sql(
        service.database,
        `SELECT outcome FROM ${name}(${args}, NULL, NULL, NULL, true)`,
        values,
      );
      return row?.outcome;
    };
    expect([
      await call('memory_write', 'old', '/memories/d/a', V(1), 0, 1, 'A', V(4), 0, 0),
      await call('memory_rename', 'old', '/memories/d', '/memories/e', 1024, 20, 0),
      await call('memory_create', 'old', '/memories/d/n', 'new', V(5), false, 0, 0),
      await call('memory_delete', 'old', '/memories/e/b'),
    ]).toStrictEqual(['written', 'renamed', 'created', 'deleted']);
    await sql(
      service.database,
      `UPDATE entries SET accessed_at = '2025-01-01Z' WHERE path = '/memories/e/c'`,
    );
    await sql(service.database, `SELECT * FROM memory_expire('old', '2025-06-01Z', 10)`);
    const edited = await service.execute(cmd.replace('/memories/e/a', 'Aa', 'Ab'), { tenant: 'old' });
    expect(edited.is_error).toBe(false);

    const lines = (await versionsOf(service.database, 'old')).map(
      ({ memoryId, operation, path, contentSizeBytes }) =>
        `${memoryId.slice(-1)} ${operation} ${path?.slice(9)} ${contentSizeBytes}`,
    );
    expect(lines.sort()).toStrictEqual([
      ...['1 created /d/a 2', '1 modified /d/a 2', '1 modified /e/a 2', '1 modified /e/a 2'],
      ...['2 created /d/b 3', '2 deleted /e/b null', '2 modified /e/b 3'],
      ...['3 created /d/c 4', '3 deleted /e/c null', '3 modified /e/c 4', '5 created /d/n 3'],
    ]);
    await assertInvariants(service);
  });

  it('a replica of the release before erases the history with the tenant', async () => {
    for (let erased = 1n; erased > 0n; ) {
      const [row] = await sql(service.database, `SELECT memory_erase('old', 3)::text AS erased`);
      erased = BigInt(String(row?.erased));
    }
    await sql(service.database, `DELETE FROM tenants WHERE id = 'old'`);
    await assertInvariants(service);
  });
}

describe('on postgres', () => upgradeSuite('postgres'));
// Without the template, PGlite takes long to create a database.
describe('on pglite', { tags: 'long' }, () => upgradeSuite('pglite'));
