/**
 * Maintenance that the embedded database runs between statements instead of in background processes, so that its log
 * and tables stay small.
 */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { parseQuery } from '../../src/core/database/query.ts';
import { type Service, startService } from '../support/test-service.ts';

const MEBIBYTE = 1024 * 1024;

let service: Service;
beforeAll(async () => {
  service = await startService('pglite');
  await service.query('CREATE TABLE large (id integer PRIMARY KEY, content text)');
  await service.query('ALTER TABLE large ALTER content SET STORAGE EXTERNAL');
});
afterAll(async () => {
  await service.query('DROP TABLE large');
  await service.close();
});

/** Writes 1 MiB and replaces the earlier row with the same ID. */
const writeQuery = parseQuery<{ id: number }>(
  'write',
  `INSERT INTO large VALUES ($id::integer, repeat('x', ${MEBIBYTE})) ON CONFLICT (id) DO UPDATE SET content = excluded.content`,
);

/** Returns the number of log bytes that Postgres would read after a crash. */
async function unsavedBytes(): Promise<number> {
  const [log] = await service.query(
    'SELECT (pg_current_wal_insert_lsn() - redo_lsn)::float8 AS bytes FROM pg_control_checkpoint()',
  );
  return Number(log?.bytes);
}

it('writes checkpoints in the embedded database while requests write', { tags: 'long' }, async () => {
  for (let n = 0; n < 80; n++) await service.database.query(writeQuery, { id: n % 4 });
  expect(await unsavedBytes()).toBeLessThan(64 * MEBIBYTE);
});

it('writes checkpoints in the embedded database during a long transaction', { tags: 'long' }, async () => {
  await service.database.transaction(async (query) => {
    for (let n = 0; n < 80; n++) await query(writeQuery, { id: n % 4 });
  });
  expect(await unsavedBytes()).toBeLessThan(64 * MEBIBYTE);
});

it('reuses space in the embedded database after rows are overwritten or deleted', {
  tags: 'long',
}, async () => {
  const bytes = async () => {
    const [table] = await service.query("SELECT pg_total_relation_size('large')::float8 AS bytes");
    return Number(table?.bytes);
  };
  const rewrite = async () => {
    for (let n = 0; n < 20; n++) await service.database.query(writeQuery, { id: n });
    // A session reports its changes at most once a second.
    await service.query('SELECT pg_stat_force_next_flush()');
    await service.database.vacuum?.();
  };
  await rewrite();
  const once = await bytes();
  for (let n = 0; n < 4; n++) await rewrite();
  expect(await bytes()).toBeLessThan(once + 30 * MEBIBYTE);
  await service.query('DELETE FROM large');
  await service.query('SELECT pg_stat_force_next_flush()');
  await service.database.vacuum?.();
  expect(await bytes()).toBeLessThan(5 * MEBIBYTE);
});

it("limits the embedded database's write-ahead log to 128 MB, and keeps 32 MB for reuse", async () => {
  const settings = ['max_wal_size', 'min_wal_size'].map((name) => `current_setting('${name}') AS ${name}`);
  expect(await service.query(`SELECT ${settings.join(', ')}`)).toStrictEqual([
    { max_wal_size: '128MB', min_wal_size: '32MB' },
  ]);
});
