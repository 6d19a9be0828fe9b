/** A new database keeps the statistics that its migration created from a sample. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { loadConfig } from '../../src/core/config.ts';
import { migrate } from '../../src/core/database/migrate.ts';
import { openDatabase } from '../../src/core/database/open.ts';
import { lookupFileQuery, readFileQuery } from '../../src/core/files/read-queries.ts';
import { connectTo, createTestDatabase, skipOnCitus } from '../support/database.ts';
import { genericPlan, tableScans } from '../support/plan.ts';

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

  it('keeps a new database from autovacuum, whose statistics would show empty tables', async () => {
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

  it('finds a file by its path with the primary keys', async () => {
    for (const query of [lookupFileQuery, readFileQuery]) {
      const scans = [...tableScans(await genericPlan(client, query))];
      expect(scans.map((scan) => [scan['Index Name'], scan['Index Cond']])).toStrictEqual([
        ['entries_tenant_id_path_pk', "((tenant_id = $1) AND (path = '/memories'::text))"],
        ['entries_tenant_id_path_pk', '((tenant_id = $1) AND (path = $2))'],
      ]);
    }
  });
});
