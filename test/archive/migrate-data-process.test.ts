/** `migrate-data` as a process: killed while it runs, and with far more data than its memory limit. */
import { afterEach, describe, expect, it } from 'vitest';
import { loadConfig } from '../../src/core/config.ts';
import { openDatabase } from '../../src/core/database/open-database.ts';
import { parseQuery } from '../../src/core/database/query.ts';
import { query } from '../support/postgres/database-cluster.ts';
import { startCli } from '../support/process.ts';
import { copyPgliteTemplate, createTestDatabase } from '../support/test-database.ts';

/** Creates an embedded database with the rows that the statements insert. */
async function directoryWith(...statements: string[]): Promise<string> {
  const directory = await copyPgliteTemplate();
  const database = await openDatabase(loadConfig({ DATA_DIR: directory }));
  for (const sql of statements) await database.query(parseQuery('', sql), {});
  await database.close();
  return directory;
}

let target: { url: string; drop(): Promise<void> };
afterEach(() => target.drop());

describe('migrate-data', () => {
  it('leaves only complete tenants if killed with SIGKILL, and copies the rest on the next run', {
    tags: 'long',
  }, async () => {
    const directory = await directoryWith(
      "INSERT INTO tenants (id, file_count, byte_count) SELECT 't' || n, 0, 0 FROM generate_series(1, 300) AS n",
      `INSERT INTO entries (tenant_id, path, parent_path, kind, changed_at)
       SELECT 't' || n, path, parent, 'dir', now()
       FROM generate_series(1, 300) AS n, (VALUES ('/memories', NULL), ('/memories/a', '/memories')) AS d (path, parent)`,
    );
    target = await createTestDatabase();
    const env = { DATABASE_URL: target.url };
    const killed = startCli(['migrate-data', '--from', directory], env);
    await killed.line(/^Copied [3-9]\d of 300 tenants/);
    killed.child.kill('SIGKILL');
    expect(await killed.exit).toBeNull();
    const counts = () =>
      query(
        target.url,
        `SELECT (SELECT count(*)::int FROM tenants) AS tenants, (SELECT count(*)::int FROM entries) AS entries`,
      );
    const [half = {}] = await counts();
    expect(half.tenants).toBeGreaterThanOrEqual(30);
    expect(half.tenants).toBeLessThan(300);
    expect(half.entries).toBe(2 * Number(half.tenants));
    const resumed = startCli(['migrate-data', '--from', directory, '--json'], env);
    expect(await resumed.exit).toBe(0);
    expect(await counts()).toStrictEqual([{ tenants: 300, entries: 600 }]);
    const done = /"already_there": (\d+)/.exec(resumed.output());
    expect(Number(done?.[1])).toBeGreaterThanOrEqual(Number(half.tenants));
  });

  it('moves 100,000 versions of 2 KB with a 64 MB heap', { tags: 'long' }, async () => {
    const directory = await directoryWith(
      "INSERT INTO tenants (id, history_versions) VALUES ('large', 100000)",
      `INSERT INTO versions (tenant_id, id, memory_id, created_at, superseded_at, bytes, size_bytes, operation, path, content)
       SELECT 'large', lpad(to_hex(n), 32, '0')::uuid, md5('memory')::uuid, now(), now(), 2200, 2048, 'modified', '/memories/a', repeat(md5(n::text), 64)
       FROM generate_series(1, 100000) AS n`,
    );
    target = await createTestDatabase();
    const moved = startCli(['migrate-data', '--from', directory, '--to', target.url], {
      NODE_OPTIONS: '--max-old-space-size=64',
    });
    expect(await moved.exit).toBe(0);
    expect(moved.output()).toMatch(
      /^Copied 0 of 1 tenant, \d+ rows\.\nCopied 1 of 1 tenant, 100001 rows\.\nBoth databases have 1 tenant with 100001 rows, 2\d\d MB: compared by number and SHA-256\.$/,
    );
    const [row] = await query(
      target.url,
      "SELECT count(*)::int AS rows, count(DISTINCT content)::int AS contents, sum(octet_length(content))::bigint AS bytes FROM versions WHERE tenant_id = 'large'",
    );
    expect(row).toStrictEqual({ rows: 100_000, contents: 100_000, bytes: '204800000' });
  });
});
