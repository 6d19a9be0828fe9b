/** Restores during writes on two replicas, and a restore whose process is killed. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { restoreAt } from '../../src/core/history/restore.ts';
import { revertActor } from '../../src/core/history/revert.ts';
import { ROOT } from '../../src/core/memory/path.ts';
import { assertInvariants } from '../support/invariants.ts';
import { startCli } from '../support/process.ts';
import { lines, OPERATOR, readSnapshot, restore, run } from '../support/restore-run.ts';
import { cmd } from '../support/step-table.ts';
import { connectTo, createTestDatabase, lockWait } from '../support/test-database.ts';
import { freshTenant, type Service, startService } from '../support/test-service.ts';

/** Number of files in the killed restore. */
const FILES = 10_000;

describe('a restore', () => {
  let own: Awaited<ReturnType<typeof createTestDatabase>>;
  let replicas: Service[] = [];
  const replica = (n: number) => replicas[n % 2] as Service;

  beforeAll(async () => {
    own = await createTestDatabase();
    replicas = await Promise.all(
      [1, 2].map(() =>
        startService('postgres', {
          DATABASE_URL: own.url,
          MAX_TENANT_FILES: '0',
          DB_IDLE_IN_TRANSACTION_TIMEOUT_MS: '0',
        }),
      ),
    );
  });
  afterAll(async () => {
    await Promise.all(replicas.map((each) => each.close()));
    await own.drop();
  });

  it('restores all files in one step, so that no reader on either replica sees a partial restore', async () => {
    const tenant = freshTenant();
    const files = Array.from({ length: 10 }, (_, i) => `/memories/d/f${i}`);
    await run(replica(0), tenant, ...files.map((path) => cmd.create(path, 'old')));
    const view = async (n: number) => (await replica(n).execute(cmd.view('/memories'), { tenant })).content;
    const past = await readSnapshot(replica(0), tenant);
    const whole = [await view(0)];
    await run(replica(0), tenant, cmd.rename('/memories/d', '/memories/e'));
    const present = await readSnapshot(replica(0), tenant);
    whole.push(await view(0));

    const seen: string[] = [];
    await Promise.all(
      [0, 1, 2, 3].map(async (worker) => {
        for (let n = 0; n < 10; n++) {
          if (worker === 0) await restore(replica(n), tenant, n % 2 === 0 ? past.at : present.at);
          else if (worker === 1) await restore(replica(n + 1), tenant, n % 2 === 0 ? present.at : past.at);
          else seen.push(await view(n + worker));
        }
      }),
    );
    expect(seen).toHaveLength(20);
    expect(seen.filter((each) => !whole.includes(each))).toStrictEqual([]);
    await assertInvariants(replica(0));
  });

  it("runs a dry run for a restore or revert without waiting for a writer's lock", async () => {
    const tenant = freshTenant();
    await run(replica(0), tenant, cmd.create('/memories/a', 'a'));
    const past = await readSnapshot(replica(0), tenant);
    await run(replica(0), tenant, cmd.delete('/memories/a'));
    const deletion = await readSnapshot(replica(0), tenant);
    const writer = await connectTo(own.url);
    await writer.query('BEGIN');
    await writer.query('SELECT FROM tenants WHERE id = $1 FOR UPDATE', [tenant]);
    const options = { ...OPERATOR, dryRun: true };
    const tried = [
      await restoreAt(replica(0).database, tenant, { path: ROOT, at: past.at }, options),
      await revertActor(replica(0).database, tenant, { by: 'anonymous', since: deletion.at }, options),
    ];
    await writer.query('ROLLBACK');
    await writer.end();
    expect(tried.map(lines)).toStrictEqual([['A /memories/a'], ['A /memories/a']]);
  });

  it('runs a restore and concurrent writes one after the other', async () => {
    const tenant = freshTenant();
    const paths = Array.from({ length: 8 }, (_, i) => `/memories/f${i}`);
    await run(replica(0), tenant, ...paths.map((path) => cmd.create(path, '0\n')));
    const past = await readSnapshot(replica(0), tenant);
    const outcomes = await Promise.all([
      ...[0, 1, 2].map((n) => restore(replica(n), tenant, past.at).then(() => undefined)),
      ...Array.from({ length: 120 }, async (_, i) => {
        const path = paths[i % 8] ?? '';
        const step = i % 5 === 4 ? cmd.rename(path, `${path}-moved`) : cmd.insert(path, 0, `${i}\n`);
        return (await replica(i).execute(step, { tenant })).is_error;
      }),
    ]);
    expect(outcomes).toContain(false);
    await assertInvariants(replica(0));
    // The history contains each acknowledged write once, with a unique time.
    const [row] = await replica(0).query(
      `SELECT count(*)::integer AS changes, count(DISTINCT created_at)::integer AS times FROM memory_versions
       WHERE tenant_id = $1::text AND COALESCE(origin #>> '{actor,type}', '') <> 'operator'`,
      [tenant],
    );
    expect(row?.changes).toBe(row?.times);
    expect(row?.changes).toBe(8 + outcomes.filter((each) => each === false).length);
    await restore(replica(0), tenant, past.at);
    const now = await readSnapshot(replica(0), tenant);
    expect({ tree: now.tree, ids: now.ids }).toEqual({ tree: past.tree, ids: past.ids });
  });

  it('restores no file if the process is killed, and all files when the restore is repeated', {
    tags: 'long',
  }, async () => {
    const tenant = freshTenant();
    await run(replica(0), tenant, cmd.create('/memories/d/f', 'x'));
    await replica(0).query(
      `WITH made AS (
         INSERT INTO entries (tenant_id, path, parent_path, kind, content, version, memory_id, operation, changed_at)
         SELECT t.id, '/memories/d/f' || n, '/memories/d', 'file', 'text ' || n,
           memory_version_id(memory_id_prefix(t.last_change_at), gen_random_uuid()), gen_random_uuid(), 'created', t.last_change_at
         FROM (SELECT id, last_change_at FROM tenants WHERE id = $1::text) AS t, generate_series(1, ${FILES}) AS n RETURNING size_bytes
       )
       UPDATE tenants SET file_count = file_count + ${FILES}, byte_count = byte_count + (SELECT sum(size_bytes) FROM made)
       WHERE id = $1::text`,
      [tenant],
    );
    const past = await readSnapshot(replica(0), tenant);
    await run(
      replica(0),
      tenant,
      cmd.rename('/memories/d', '/memories/e'),
      cmd.create('/memories/new', 'new'),
    );
    await run(replica(0), tenant, cmd.delete('/memories/e/f7'));
    const present = await readSnapshot(replica(0), tenant);

    // The restore has made its changes and waits for this reader before it removes the directory.
    const holder = await replica(0).database.transaction(async (query) => {
      await query(
        {
          name: 'hold',
          sql: `SELECT path FROM entries WHERE tenant_id = $1 AND path = '/memories/e' FOR KEY SHARE`,
          parameters: ['tenant'],
        },
        { tenant },
      );
      const args = ['restore', tenant, '--at', past.at];
      const child = startCli(args, {
        DATABASE_URL: own.url,
        MAX_TENANT_FILES: '0',
        DB_LOCK_TIMEOUT_MS: '60000',
        DB_STATEMENT_TIMEOUT_MS: '120000',
      });
      await lockWait(own.url);
      child.child.kill('SIGKILL');
      return child.exit;
    });
    expect(holder).toBeNull();
    expect(await readSnapshot(replica(1), tenant)).toEqual(present);
    await restore(replica(1), tenant, past.at);
    const now = await readSnapshot(replica(1), tenant);
    expect({ tree: now.tree, ids: now.ids }).toEqual({ tree: past.tree, ids: past.ids });
    await assertInvariants(replica(1));
  });
});
