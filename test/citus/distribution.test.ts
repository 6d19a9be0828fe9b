/** Database distribution by `migrate` on Citus, and its errors. */

import { is } from 'drizzle-orm';
import { getTableConfig, PgTable } from 'drizzle-orm/pg-core';
import { afterEach, describe, expect, inject, it } from 'vitest';
import { loadConfig } from '../../src/core/config.ts';
import { ALL_TABLES } from '../../src/core/database/citus.ts';
import { migrate, schemaState } from '../../src/core/database/migrate.ts';
import { openDatabase } from '../../src/core/database/open-database.ts';
import * as schema from '../../src/core/database/schema/index.ts';
import { assertInvariants, readTree } from '../support/invariants.ts';
import { addCitus, createDatabase, query } from '../support/postgres/database-cluster.ts';
import { databaseUrl } from '../support/postgres/test-server.ts';
import { cmd } from '../support/step-table.ts';
import { createTestDatabase, isCitus } from '../support/test-database.ts';
import { startService } from '../support/test-service.ts';

it('assigns every table a distribution on Citus', () => {
  const tables = Object.values(schema).flatMap((each) =>
    is(each, PgTable) ? [getTableConfig(each).name] : [],
  );
  expect(ALL_TABLES.toSorted()).toStrictEqual(
    [...tables.map((name) => `public.${name}`), 'drizzle.__drizzle_migrations'].sort(),
  );
});

/** Runs `work` on the database at `url`, as a command would. */
async function withDatabase<T>(
  url: string,
  work: (database: Awaited<ReturnType<typeof openDatabase>>) => Promise<T>,
) {
  const database = await openDatabase(loadConfig({ DATABASE_URL: url, DB_CONNECT_TIMEOUT_MS: '60000' }));
  try {
    return await work(database);
  } finally {
    await database.close();
  }
}

const tablePlaces = async (url: string) =>
  (
    await query(
      url,
      `SELECT table_name::text || ' ' || citus_table_type || ' ' || distribution_column || ' ' || colocation_id AS place
       FROM citus_tables ORDER BY 1`,
    )
  ).map(({ place }) => place);

describe.skipIf(!isCitus())('migrate on Citus', { tags: 'citus' }, () => {
  let own: { url: string; drop(): Promise<void> } | undefined;
  const ownDatabase = async (options: { migrated: boolean }) => {
    own = await createTestDatabase(options);
    return own.url;
  };
  afterEach(() => own?.drop());

  /** Returns the URL for the database with the same name on a worker. */
  const workerUrl = (url: string) =>
    databaseUrl(inject('postgres').cluster.nodes[1] ?? '', new URL(url).pathname.slice(1));

  const PLACES = [
    'activity local <none> 0',
    'api_keys reference <none> 2',
    'audit_events local <none> 0',
    'change_log distributed tenant_id 1',
    'change_log_0 distributed tenant_id 1',
    'change_log_1 distributed tenant_id 1',
    'change_log_2 distributed tenant_id 1',
    'change_log_state reference <none> 2',
    'change_ticks local <none> 0',
    'draft_base distributed tenant_id 1',
    'drafts distributed tenant_id 1',
    'drizzle.__drizzle_migrations reference <none> 2',
    'ended_sessions local <none> 0',
    'entries distributed tenant_id 1',
    'fleet_usage local <none> 0',
    'idempotency_keys distributed tenant_id 1',
    'installation reference <none> 2',
    'invitations local <none> 0',
    'job_outcomes distributed tenant_id 1',
    'jobs local <none> 0',
    'kept_out reference <none> 2',
    'past_directories distributed tenant_id 1',
    'reads distributed tenant_id 1',
    'receipts local <none> 0',
    'shares local <none> 0',
    'tenant_events distributed tenant_id 1',
    'tenant_usage distributed tenant_id 1',
    'tenants distributed id 1',
    'versions distributed tenant_id 1',
    'webhook_deliveries local <none> 0',
    'webhooks local <none> 0',
  ];

  it('distributes an empty database, and changes nothing when migrated again', async () => {
    const url = await ownDatabase({ migrated: false });
    await withDatabase(url, async (database) => {
      expect(database).toMatchObject({ kind: 'citus', batches: { calls: 1 } });
      expect(await schemaState(database)).toBe('behind');
      await migrate(database);
      expect(await schemaState(database)).toBe('current');
      await migrate(database);
    });
    expect(await tablePlaces(url)).toStrictEqual(PLACES);
    // The foreign key was created again.
    const keys = await query(
      url,
      "SELECT conname FROM pg_constraint WHERE contype = 'f' AND conrelid = 'entries'::regclass ORDER BY 1",
    );
    expect(keys.map(({ conname }) => conname)).toStrictEqual(['entries_parent_is_directory']);
  });

  it('installs the shard lock on every node, and reinstalls it on every node after an upgrade', async () => {
    const url = await ownDatabase({ migrated: true });
    const locks = () =>
      Promise.all(
        [url, workerUrl(url)].map(async (node) => {
          const [found] = await query(node, "SELECT prosrc FROM pg_proc WHERE proname = 'memory_hold_shard'");
          return String(found?.prosrc).includes('lock_shard_metadata');
        }),
      );
    expect(await locks()).toStrictEqual([true, true]);
    for (const [name, type, value] of [
      ['memory_hold_shard(p_tenant text)', 'boolean', 'true'],
      ['memory_functions_version()', 'integer', '0'],
    ]) {
      await query(
        url,
        `CREATE OR REPLACE FUNCTION ${name} RETURNS ${type} LANGUAGE sql AS 'SELECT ${value}'`,
      );
    }
    expect(await locks()).toStrictEqual([false, false]);
    await withDatabase(url, migrate);
    expect(await locks()).toStrictEqual([true, true]);
  });

  it('distributes all rows in an existing database, and keeps no copy on the coordinator', async () => {
    const { url: server, cluster } = inject('postgres');
    const name = `${inject('postgres').prefix}_plain`;
    const [coordinator = '', ...workers] = cluster.nodes;
    await createDatabase({ isCitus: false, nodes: [coordinator] }, name);
    const url = databaseUrl(server, name);
    own = { url, drop: async () => {} };
    const tenants = Array.from({ length: 12 }, (_, i) => `tenant-${i}`);
    const plain = await startService('postgres', { DATABASE_URL: url });
    expect(plain.database.kind).toBe('postgres');
    for (const tenant of tenants) {
      await plain.execute(cmd.create('/memories/d/f.md', `of ${tenant}`), { tenant });
      await plain.execute(cmd.replace('/memories/d/f.md', 'of', 'still of'), { tenant });
      await plain.execute(cmd.rename('/memories/d', '/memories/e'), {
        tenant,
        headers: { 'idempotency-key': 'k' },
      });
    }
    await plain.close();

    await createDatabase({ isCitus: false, nodes: workers }, name);
    await addCitus(cluster, name);
    // Both `memory-service migrate` and the service at its start distribute the database.
    const service = await startService('postgres', { DATABASE_URL: url });
    try {
      expect(service.database.kind).toBe('citus');
      for (const tenant of tenants) {
        expect((await readTree(service, tenant)).get('/memories/e/f.md')).toBe(`still of ${tenant}`);
        const again = await service.execute(cmd.rename('/memories/d', '/memories/e'), {
          tenant,
          headers: { 'idempotency-key': 'k' },
        });
        expect(again.headers['idempotency-replayed']).toBe('true');
      }
      expect((await service.query('SELECT count(*)::integer AS count FROM versions'))[0]).toStrictEqual({
        count: 24,
      });
      await assertInvariants(service);
      const local = await query(
        url,
        "SELECT sum(pg_relation_size(c)) AS bytes FROM unnest('{tenants,entries,versions}'::regclass[]) AS c",
      );
      expect(local).toStrictEqual([{ bytes: '0' }]);
    } finally {
      await service.close();
    }
  });

  it('completes the distribution if one table is not distributed yet', async () => {
    const url = await ownDatabase({ migrated: true });
    await query(url, "SELECT undistribute_table('versions')");
    await withDatabase(url, async (database) => {
      expect(await schemaState(database)).toBe('behind');
      await migrate(database);
      expect(await schemaState(database)).toBe('current');
    });
    expect(await tablePlaces(url)).toStrictEqual(PLACES);
  });

  it('names a table that is distributed in another way, and changes no table', async () => {
    const url = await ownDatabase({ migrated: true });
    await query(url, "SELECT undistribute_table('versions')");
    await query(url, "SELECT create_distributed_table('versions', 'tenant_id', colocate_with => 'none')");
    await query(url, "SELECT undistribute_table('past_directories')");
    const before = await tablePlaces(url);
    await expect(withDatabase(url, migrate)).rejects.toThrow(
      "Citus distributes public.versions in another way than memory-service needs. For each of them, run SELECT undistribute_table('public.versions', cascade_via_foreign_keys => true) on the coordinator, then memory-service migrate.",
    );
    expect(await tablePlaces(url)).toStrictEqual(before);
  });

  it('names a worker that lacks the Citus extension', async () => {
    const url = await ownDatabase({ migrated: false });
    const worker = workerUrl(url);
    await query(worker, 'DROP EXTENSION citus');
    const { host } = new URL(worker);
    await expect(withDatabase(url, migrate)).rejects.toThrow(
      `The worker ${host} does not have the extension citus in this database. Run CREATE EXTENSION citus there.`,
    );
  });

  it('rejects a migration through a worker, but serves tenants through a migrated worker', async () => {
    const empty = await ownDatabase({ migrated: false });
    await expect(withDatabase(workerUrl(empty), migrate)).rejects.toThrow(
      'only the coordinator can be migrated',
    );
    await own?.drop();
    own = undefined;
    const worker = workerUrl(await ownDatabase({ migrated: true }));
    const service = await startService('postgres', { DATABASE_URL: worker });
    try {
      for (const tenant of ['a', 'b', 'c', 'd']) {
        await service.execute(cmd.create('/memories/f.md', tenant), { tenant });
        expect((await readTree(service, tenant)).get('/memories/f.md')).toBe(tenant);
      }
    } finally {
      await service.close();
    }
  });

  it('rejects a Citus version that is too old', async () => {
    const url = await ownDatabase({ migrated: false });
    await query(url, "UPDATE pg_extension SET extversion = '12.1-1' WHERE extname = 'citus'");
    await expect(withDatabase(url, migrate)).rejects.toThrow(
      'The database has Citus 12.1-1, and memory-service needs 13 or newer.',
    );
  });
});
