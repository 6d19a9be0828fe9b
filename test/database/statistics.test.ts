/** Plans for look-ups by path, with the statistics of a new database and of databases with few entries per tenant. */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { loadConfig } from '../../src/core/config.ts';
import { migrate } from '../../src/core/database/migrate.ts';
import { openDatabase } from '../../src/core/database/open-database.ts';
import { plannerOptions } from '../../src/core/database/pg.ts';
import type { AnyQuery } from '../../src/core/database/query.ts';
import {
  findPathsQuery,
  findRecordQuery,
  listRootQuery,
  lookupFileQuery,
  lookupQuery,
  readFileQuery,
} from '../../src/core/files/read-queries.ts';
import { genericPlan, type Plan, tableScans } from '../support/query-plan.ts';
import { connectTo, createTestDatabase, skipOnCitus } from '../support/test-database.ts';

describe('a new database', () => {
  skipOnCitus('the sample is not on the shards');
  let own: Awaited<ReturnType<typeof createTestDatabase>>;
  let client: Awaited<ReturnType<typeof connectTo>>;

  beforeAll(async () => {
    own = await createTestDatabase({ migrated: false });
    const database = await openDatabase(loadConfig({ AUTH: 'none', DATABASE_URL: own.url }));
    await migrate(database);
    await database.close();
    client = await connectTo(own.url);
  });
  afterAll(async () => {
    await client.end();
    await own.drop();
  });

  it('creates a database whose tables are not due for autovacuum, which would find them empty', async () => {
    const rows = async (sql: string) => (await client.query(sql)).rows;
    // A session reports its changes when it ends.
    await expect
      .poll(() =>
        rows(`SELECT relname, n_tup_ins::integer AS inserted, n_tup_del::integer AS deleted
          FROM pg_stat_user_tables WHERE relname IN ('entries', 'versions') ORDER BY 1`),
      )
      .toStrictEqual([
        { relname: 'entries', inserted: 680, deleted: 680 },
        { relname: 'versions', inserted: 1800, deleted: 1800 },
      ]);
    const due = await rows(`
      SELECT s.relname FROM pg_stat_user_tables AS s JOIN pg_class AS c ON c.oid = s.relid
      WHERE GREATEST(s.n_dead_tup, s.n_ins_since_vacuum, s.n_mod_since_analyze) > (
        SELECT CASE count(*) WHEN 3 THEN min(o.option_value::integer) ELSE 50 END
        FROM pg_options_to_table(c.reloptions) AS o
        WHERE o.option_name IN (
          'autovacuum_vacuum_threshold', 'autovacuum_vacuum_insert_threshold', 'autovacuum_analyze_threshold'
        )
      )`);
    expect(due).toStrictEqual([]);
  });

  it('uses the primary key to find a file by its path', async () => {
    for (const query of [lookupFileQuery, readFileQuery]) {
      const scans = [...tableScans(await genericPlan(client, query))];
      expect(scans.map((scan) => [scan['Index Name'], scan['Index Cond']])).toStrictEqual([
        ['entries_tenant_id_path_pk', "((tenant_id = $1) AND (path = '/memories'::text))"],
        ['entries_tenant_id_path_pk', '((tenant_id = $1) AND (path = $2))'],
      ]);
    }
  });
});

describe('with statistics for few entries per tenant', () => {
  skipOnCitus('a new plan is made for each call');
  let own: Awaited<ReturnType<typeof createTestDatabase>>;
  let client: Awaited<ReturnType<typeof connectTo>>;

  beforeAll(async () => {
    own = await createTestDatabase();
    client = await connectTo(own.url, { options: plannerOptions });
  });
  // Also drops the sample's index pages.
  beforeEach(() => client.query('TRUNCATE entries'));
  afterAll(async () => {
    await client.end();
    await own.drop();
  });

  const one = [lookupFileQuery, lookupQuery, readFileQuery, listRootQuery, findRecordQuery, findPathsQuery];
  const reads = one.flatMap((query) => [query, query.batch ?? []].flat()) as unknown as AnyQuery[];
  const directories = (tenants: number, paths: string) => `
    INSERT INTO entries (tenant_id, path, parent_path, kind, changed_at)
    SELECT 't' || t, path, memory_parent(path), 'dir', now() FROM generate_series(1, ${tenants}) AS t, unnest('${paths}'::text[]) AS path`;
  const files = (tenant: string) => `
    INSERT INTO entries (tenant_id, path, parent_path, kind, changed_at, content, version, memory_id, operation)
    SELECT '${tenant}', '/memories/f' || f, '/memories', 'file', now(), 'x', md5('' || f)::uuid, md5('' || f)::uuid, 'created'
    FROM generate_series(1, 2000) AS f`;

  it.each([
    ['a few entries of one tenant', [directories(1, '{/memories,/memories/a,/memories/b,/memories/a/c}')]],
    ['tenants with a root only', [directories(2000, '{/memories}')]],
    ['many small tenants and a large one', [directories(2000, '{/memories,/memories/a}'), files('t1')]],
  ])('uses all columns of an index after ANALYZE on %s', async (_, inserts) => {
    for (const sql of inserts) await client.query(sql);
    await client.query('ANALYZE entries');
    const wrong: string[] = [];
    for (const query of reads) {
      for (const scan of indexScans(await genericPlan(client, query)))
        if (!isExact(scan)) wrong.push(`${query.name}: ${scan['Index Name']} ${scan['Index Cond']}`);
    }
    expect(wrong).toStrictEqual([]);
  });
});

/** Yields the plan's nodes that read an index. */
function* indexScans(plan: Plan): Generator<Plan> {
  if (plan['Index Name'] !== undefined) yield plan;
  for (const child of plan.Plans ?? []) yield* indexScans(child);
}

/** Whether a scan finds a tenant's entries by their path or by their parent's path. */
function isExact({ 'Index Name': index, 'Index Cond': condition }: Plan): boolean {
  const column = index === 'entries_tenant_id_path_pk' ? 'path' : 'parent_path';
  const isKnown = index === 'entries_tenant_id_path_pk' || index === 'entries_children';
  return isKnown && `${condition}`.includes('(tenant_id =') && `${condition}`.includes(`(${column} =`);
}
