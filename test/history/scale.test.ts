/**
 * Many files and versions: properties that must not depend on planner statistics, statement time limits, or the
 * tenant's size.
 *
 * @module-tag long-on-pglite
 */
import type pg from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parseQuery } from '../../src/core/database/query.ts';
import { pruneHistory } from '../../src/core/history/pruning.ts';
import { revertActor } from '../../src/core/history/revert.ts';
import { Tenants } from '../../src/core/tenants/tenants.ts';
import { assertInvariants, readTree } from '../support/invariants.ts';
import { genericPlan, nestedPlans, tableScans } from '../support/query-plan.ts';
import { OPERATOR, readSnapshot, restore, run } from '../support/restore-run.ts';
import { statements } from '../support/statements.ts';
import { cmd } from '../support/step-table.ts';
import { connectTo, createTestDatabase, skipOnCitus } from '../support/test-database.ts';
import { describeServiceOnOwnDatabase, freshTenant, type Service } from '../support/test-service.ts';

/** Creates the files /memories/d/f1, /memories/d/f2, … with SQL. */
async function fill(query: Service['query'], tenant: string, files: number): Promise<void> {
  await query('INSERT INTO tenants (id) VALUES ($1::text) ON CONFLICT DO NOTHING', [tenant]);
  await query(
    `INSERT INTO entries (tenant_id, path, parent_path, kind, changed_at)
     SELECT $1::text, p, memory_parent(p), 'dir', now() FROM unnest(ARRAY['/memories', '/memories/d']) AS p`,
    [tenant],
  );
  await query('SELECT memory_bind_root($1)', [tenant]);
  await query(
    `INSERT INTO entries (tenant_id, path, parent_path, kind, changed_at, content, version, memory_id, operation)
     SELECT $1::text, '/memories/d/f' || i, '/memories/d', 'file', now(), 'content ' || i, id, id, 'created'
     FROM generate_series(1, $2::integer) AS i,
       LATERAL (SELECT memory_version_id(memory_id_prefix(now()), md5(i::text)::uuid) AS id) AS made`,
    [tenant, files],
  );
  await query(
    `UPDATE tenants SET last_change_at = clock_timestamp(), file_count = $2::bigint,
       byte_count = (SELECT sum(size_bytes) FROM entries WHERE tenant_id = $1) WHERE id = $1::text`,
    [tenant, files],
  );
}

/** Swaps the paths of 5,000 files in a session with the service's planner settings. */
const swapQuery = parseQuery<{ tenant: string; paths: string[]; memoryIds: string[] }>(
  'swap',
  `SELECT memory_change($tenant, memory_begin_change($tenant), gen_random_uuid(), '{}', ($paths::text[])[1:5000], ($paths::text[])[1:5000],
     '{}', '{}', '{}', '{}', ($memoryIds::text[]::uuid[])[1:5000], ($paths::text[])[2:5000] || ($paths::text[])[1:1],
     array_fill(NULL::text, ARRAY[5000]), array_fill(NULL::uuid, ARRAY[5000]), array_fill(1, ARRAY[5000]), ARRAY['{}']::jsonb[], 30, 0)`,
);

/** Creates statistics from tenants with few files and versions. */
const SMALL_TENANTS = `
INSERT INTO tenants (id) SELECT 'small-' || t FROM generate_series(1, 500) AS t;
INSERT INTO entries (tenant_id, path, parent_path, kind, changed_at)
SELECT 'small-' || t, '/memories', NULL, 'dir', now() FROM generate_series(1, 500) AS t;
SELECT memory_bind_root('small-' || t) FROM generate_series(1, 500) AS t;
INSERT INTO entries (tenant_id, path, parent_path, kind, changed_at, content, version, memory_id, operation)
SELECT 'small-' || t, '/memories/f' || i, '/memories', 'file', now(), 'x', id, id, 'created'
FROM generate_series(1, 500) AS t, generate_series(1, 5) AS i, LATERAL (SELECT md5(t || '-' || i)::uuid AS id) AS made;
INSERT INTO versions (tenant_id, id, memory_id, operation, path, bytes, created_at, superseded_at, content)
SELECT tenant_id, md5(memory_id::text || n)::uuid, memory_id, 'modified', path, 500, now(), now(), 'y'
FROM entries, generate_series(1, 3) AS n WHERE kind = 'file';
UPDATE tenants AS t SET history_versions = 15, history_bytes = 7500, file_count = 5, byte_count = 5;
ANALYZE entries;
ANALYZE versions`;

describe.each([
  ['in a new database', ''],
  ['among small tenants', SMALL_TENANTS],
])('a statement for many rows %s', (_, statistics) => {
  skipOnCitus('its plans are those of its shards');
  let own: Awaited<ReturnType<typeof createTestDatabase>>;
  let client: pg.Client;
  beforeAll(async () => {
    own = await createTestDatabase();
    client = await connectTo(own.url);
    await client.query('SET enable_seqscan = off; SET enable_hashjoin = off; SET enable_mergejoin = off');
    if (statistics !== '') await client.query(statistics);
  });
  afterAll(async () => {
    await client.end();
    await own.drop();
  });

  // Statements with these names only insert their parameters, and read at most the tenant's row.
  const inserts = /^(import_|insert_entries$|record_reads$|insert_tick$|insert_webhook_deliveries$)/;
  // Statements with these names read ranges of paths beside the listed rows.
  const ranges =
    /^((changed_)?context_files|watched_state|lookup_shown|list_(shown_root|memories|children|(store|memory)_versions))$/;
  // Statements with these names read the fleet's change log by transactions.
  const fleet = /^(prune_ticks|find_unseen_change|read_changes)$/;
  const given = statements.filter(
    ({ name, sql }) => sql.includes('unnest(') && !inserts.test(name) && !fleet.test(name),
  );
  it.each(given.filter(({ name }) => ranges.test(name)))(
    'reads only ranges of an index in the statement $name',
    async (query) => {
      const scans = [...tableScans(await genericPlan(client, query))];
      expect(scans.length).toBeGreaterThan(0);
      for (const scan of scans)
        expect(scan['Index Cond'] ?? scan['Recheck Cond']).toMatch(/(tenant_)?id = \(?\$1/);
    },
  );
  it.each(given.filter(({ name }) => !ranges.test(name)))(
    'finds the listed rows through an index in the statement $name',
    async (query) => {
      const scans = [...tableScans(await genericPlan(client, query))];
      expect(scans.length).toBeGreaterThan(0);
      for (const scan of scans) {
        expect(scan['Index Cond'] ?? scan['Recheck Cond']).toMatch(
          /tenant_id = \$1\) AND \((memory_id|path|parent_path|id) = /,
        );
      }
    },
  );

  it('uses an index instead of a list filter in functions that change many rows', async () => {
    const query = async (sql: string, values?: unknown[]) => (await client.query(sql, values)).rows;
    await fill(query, 'many', 20);
    const paths = Array.from({ length: 10 }, (_, i) => `/memories/d/f${i + 1}`);
    const swapped = [...paths.slice(5), ...paths.slice(0, 5)];
    const calls: [string, unknown[]][] = [
      [
        `SELECT memory_change('many', memory_begin_change('many'), gen_random_uuid(), '{}', $1::text[], $1, '{}', '{}', '{}', '{}',
           ARRAY(SELECT memory_id FROM unnest($1) WITH ORDINALITY AS p (path, i) JOIN entries USING (path) WHERE tenant_id = 'many' ORDER BY i),
           $2::text[], $3::text[], $3::text[]::uuid[], array_fill(1, ARRAY[10]), ARRAY['{}']::jsonb[], 30, 0)`,
        [paths, swapped, paths.map(() => null)],
      ],
      [
        "SELECT * FROM memory_delete('many', '/memories/d', gen_random_uuid(), '{}', NULL, NULL, NULL, 30, 0, true)",
        [],
      ],
      [
        "SELECT * FROM memory_prune_old('many', now() + interval '1 day', 10, '-infinity', '00000000-0000-0000-0000-000000000000', 5)",
        [],
      ],
      ["SELECT * FROM memory_prune_excess('many', 1, 100)", []],
    ];
    for (const [sql, values] of calls) {
      const plans = await nestedPlans(client, sql, values);
      const scans = plans.flatMap((plan) => [...tableScans(plan)]);
      expect(scans.length).toBeGreaterThan(0);
      expect(scans.filter(({ Filter }) => String(Filter).includes('ANY'))).toStrictEqual([]);
    }
    expect(
      await query("SELECT history_versions, history_bytes FROM tenants WHERE id = 'many'"),
    ).toStrictEqual([{ history_versions: '0', history_bytes: '0' }]);
  });
});

describeServiceOnOwnDatabase('a large history', (service, kind) => {
  const query: Service['query'] = (sql, values) => service().query(sql, values);

  it('restores 10,000 files that were deleted or swapped', { tags: 'long' }, async () => {
    const tenant = freshTenant();
    await fill(query, tenant, 10_000);
    const past = await readSnapshot(service(), tenant);
    await run(service(), tenant, cmd.delete('/memories/d'));
    expect(await restore(service(), tenant, past.at)).toHaveLength(10_001);
    const [paths, memoryIds] = [[...past.ids.keys()], [...past.ids.values()]];
    await service().database.query(swapQuery, { tenant, paths, memoryIds });
    expect(await restore(service(), tenant, past.at)).toHaveLength(5000);
    const now = await readSnapshot(service(), tenant);
    expect([now.tree, now.ids]).toEqual([past.tree, past.ids]);
    await assertInvariants(service());
  });

  it('reverts more changes and files than one page contains', { tags: 'long' }, async () => {
    const tenant = freshTenant();
    await fill(query, tenant, 1200);
    const past = await readSnapshot(service(), tenant);
    for (let i = 0; i < 20; i++) {
      const [from, to] = i % 2 === 0 ? ['d', 'e'] : ['e', 'd'];
      await run(service(), tenant, cmd.rename(`/memories/${from}`, `/memories/${to}`));
    }
    await run(service(), tenant, cmd.rename('/memories/d', '/memories/f'));
    const read: number[] = [];
    const change = { by: 'anonymous', since: past.at };
    const options = { ...OPERATOR, onProgress: (versions: number) => read.push(versions) };
    const tried = await revertActor(service().database, tenant, change, { ...options, dryRun: true });
    expect(read).toStrictEqual([20_000, 24_000]);
    expect(await revertActor(service().database, tenant, change, OPERATOR)).toStrictEqual({
      ...tried,
      changedAt: expect.any(String),
    });
    expect(tried).toMatchObject({
      directoriesMade: ['/memories/d'],
      directoriesRemoved: ['/memories/f'],
      conflicts: [],
    });
    expect(tried.files).toHaveLength(1200);
    expect(await readTree(service(), tenant)).toEqual(past.tree);
    await assertInvariants(service());
  });

  it('prunes 20,000 versions of one file, by age and by size', { tags: 'long' }, async () => {
    const tenant = freshTenant();
    await fill(query, tenant, 1);
    for (const prune of [
      { historyDays: 30, maxHistoryBytes: 0, now: new Date(Date.now() + 31 * 86_400_000) },
      { historyDays: 30, maxHistoryBytes: 1 },
    ]) {
      await query(
        `INSERT INTO versions (tenant_id, id, memory_id, operation, path, bytes, created_at, superseded_at, size_bytes, content_sha256, content)
         SELECT $1::text, memory_version_id(memory_id_prefix(at), md5(n::text)::uuid), md5('of ' || $1)::uuid, 'modified', '/memories/x',
           memory_version_bytes($1, '/memories/x', NULL, 'x'), at, at + interval '1 ms', 1, memory_sha256('x'), 'x'
         FROM generate_series(1, 20000) AS n, LATERAL (SELECT now() - interval '1 hour' + n * interval '1 ms' AS at) AS made`,
        [tenant],
      );
      await query(
        `UPDATE tenants SET history_versions = 20000, history_bytes = (SELECT sum(bytes) FROM versions WHERE tenant_id = $1)
         WHERE id = $1::text`,
        [tenant],
      );
      expect(await pruneHistory(service().database, { ...prune, tenant })).toMatchObject({
        versions: 20_000,
      });
    }
    await assertInvariants(service());
  });

  const historySize = async (tenant: string) =>
    Number((await new Tenants(service().database).find(tenant))?.historyBytes);

  /** Fills a tenant's history to its limit and returns its size after each of many changes. */
  async function sizesWith(limit: number, size: number): Promise<number[]> {
    const tenant = freshTenant();
    await new Tenants(service().database).create(tenant);
    await new Tenants(service().database).set(tenant, { maxHistoryBytes: limit });
    const text = (n: number) => String.fromCharCode(97 + (n % 26)).repeat(size);
    const steps: object[] = [cmd.create('/memories/f', text(0))];
    for (let i = 0; i < 12; i++) steps.push(cmd.replace('/memories/f', text(i), text(i + 1)));
    for (let i = 0; i < 8; i++) steps.push(cmd.create(`/memories/d/f${i}`, text(i)));
    for (let i = 0; i < 6; i++) steps.push(cmd.rename(`/memories/d${i || ''}`, `/memories/d${i + 1}`));
    steps.push(cmd.delete('/memories/d6'));
    for (let i = 12; i < 24; i++) steps.push(cmd.replace('/memories/f', text(i), text(i + 1)));
    const sizes: number[] = [];
    for (const step of steps) {
      await run(service(), tenant, step);
      sizes.push(await historySize(tenant));
    }
    return sizes;
  }

  it('keeps a large history within the size limit at any time', async () => {
    const sizes = await sizesWith(50_000, 5000);
    expect(Math.max(...sizes)).toBeLessThanOrEqual(50_000);
    expect(Math.max(...sizes)).toBeGreaterThan(40_000);
    await assertInvariants(service());
  });

  it('keeps a history with large files within 10 MB at any time', { tags: 'long' }, async () => {
    const sizes = await sizesWith(10_000_000, 1_048_576);
    expect(Math.max(...sizes)).toBeLessThanOrEqual(10_000_000);
    expect(Math.max(...sizes)).toBeGreaterThan(8_000_000);
    await assertInvariants(service());
  });

  it.runIf(kind === 'postgres').for([
    { tenant: 8, path: 20, origin: 100 },
    { tenant: 36, path: 60, origin: 200 },
    { tenant: 36, path: 300, origin: 100 },
    { tenant: 128, path: 1000, origin: 800 },
  ])(
    "estimates the rows' size on disk within 25 percent: $tenant, $path, $origin",
    { tags: 'long' },
    async (length) => {
      await query('TRUNCATE versions; TRUNCATE past_directories');
      const hexadecimalText = (of: string, characters: string) =>
        `left((SELECT string_agg(md5(${of} || '-' || k), '') FROM generate_series(1, 32) AS k), ${characters})`;
      const rows = `generate_series($1::integer + 1, $1 + 500) AS n, LATERAL (
      SELECT rpad('t' || n % 20, ${length.tenant}, 'x') AS tenant, '/memories/' || ${hexadecimalText('n % 200', `${length.path} - 10`)} AS path,
        now() + n * interval '1 ms' AS at, jsonb_build_object('label', ${hexadecimalText('n', String(length.origin))}) AS origin
    ) AS made`;
      for (let from = 0; from < 10_000; from += 500) {
        await query(
          `INSERT INTO versions (tenant_id, id, memory_id, operation, path, bytes, created_at, superseded_at, size_bytes, content_sha256, origin, content)
         SELECT tenant, memory_version_id(memory_id_prefix(at), md5(n::text)::uuid), md5((n % 200)::text)::uuid, 'modified', path,
           memory_version_bytes(tenant, path, origin, 'content'), at, at, 7, memory_sha256('content'), origin, 'content' FROM ${rows}`,
          [from],
        );
        await query(`INSERT INTO past_directories SELECT tenant, path, at, at FROM ${rows}`, [from]);
      }
      const [ratio] = await query(`
      SELECT (SELECT sum(bytes) FROM versions)::float8 / pg_total_relation_size('versions') AS versions,
        (SELECT sum(memory_directory_bytes(tenant_id, path)) FROM past_directories)::float8 / pg_total_relation_size('past_directories') AS directories`);
      await query('TRUNCATE versions; TRUNCATE past_directories');
      for (const each of [Number(ratio?.versions), Number(ratio?.directories)]) {
        expect(each).toBeGreaterThan(0.75);
        expect(each).toBeLessThan(1.25);
      }
    },
  );
});
