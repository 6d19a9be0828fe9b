/** Operations on all data or on a cluster's schema while clients write. */
import { cp, readFile, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { FaultyCluster } from '../support/faults/faulty-cluster.ts';
import { Replica } from '../support/faults/replica.ts';
import {
  LIMITS,
  migrate,
  noteDuration,
  RECORDS,
  readContents,
  root,
  TABLES,
  withScene,
} from './citus-scene.ts';
import { becomesTrue } from './environment.ts';

/** Path in the coordinator's container. */
const DUMP = '/tmp/memory.dump';

export const dumpAndRestore = (cluster: FaultyCluster) =>
  withScene(cluster, 'dump, and restore into another cluster database', async ({ url, row, workload }) => {
    await workload.stop();
    const target = await cluster.createDatabase(`operations_restored`);
    await noteDuration(row, 'dump', () =>
      cluster.runOnCoordinator('pg_dump', [
        '--data-only',
        '--format=custom',
        '--schema=public',
        `--file=${DUMP}`,
        url,
      ]),
    );
    await migrate(target);
    await noteDuration(row, 'restore', async () => {
      for (const table of [...TABLES, ...RECORDS]) {
        await cluster.runOnCoordinator('pg_restore', [
          '--data-only',
          '--exit-on-error',
          `--table=${table}`,
          `--dbname=${target}`,
          DUMP,
        ]);
      }
    });
    const [dumped, restored] = await Promise.all([url, target].map(readContents));
    for (const table of TABLES)
      row.expect(dumped?.[table] === restored?.[table], `${table} differs after the restore`);
    workload.start();
  });

/** Copies this build and adds a migration and newer functions. */
async function nextVersion(scratch: string): Promise<string> {
  const directory = join(scratch, 'next');
  for (const name of ['dist', 'migrations', 'package.json'])
    await cp(join(root, name), join(directory, name), { recursive: true });
  await symlink(join(root, 'node_modules'), join(directory, 'node_modules'));
  const journalFile = join(directory, 'migrations/meta/_journal.json');
  const journal = JSON.parse(await readFile(journalFile, 'utf8'));
  const last = journal.entries.at(-1);
  journal.entries.push({ ...last, idx: last.idx + 1, when: last.when + 1000, tag: '9999_next' });
  await writeFile(journalFile, JSON.stringify(journal));
  await writeFile(
    join(directory, 'migrations/9999_next.sql'),
    `ALTER TABLE "entries" ADD COLUMN "next" text COLLATE "C";--> statement-breakpoint
ALTER TABLE "api_keys" ADD COLUMN "next" text COLLATE "C";--> statement-breakpoint
CREATE INDEX "versions_next" ON "versions" USING btree ("tenant_id","operation");`,
  );
  const code = join(directory, 'dist/postgres/migrate.js');
  const source = await readFile(code, 'utf8');
  const next = source.replace(/FUNCTIONS_VERSION = (\d+)/, (_, n) => `FUNCTIONS_VERSION = ${Number(n) + 1}`);
  if (next === source) throw new Error('FUNCTIONS_VERSION is not where it was.');
  await writeFile(code, next);
  return join(directory, 'dist/main.js');
}

export const twoVersions = (cluster: FaultyCluster, scratch: string) =>
  withScene(
    cluster,
    'two versions side by side, the newer one migrates',
    async ({ url, row, replicas, workload }) => {
      const cli = await nextVersion(scratch);
      await noteDuration(row, 'migration', () => migrate(url, cli));
      const newer = await Replica.create({ DATABASE_URL: url, ...LIMITS }, cli);
      await newer.start();
      replicas.push(newer);
      await workload.acknowledge(400);
      const failed = [...workload.statuses].filter(([status]) => status !== '200');
      row.expect(failed.length === 0, `requests ended with ${failed.map(([status]) => status).join(', ')}`);
      row.expect(
        await becomesTrue(5000, async () => (await newer.status('/readyz')) === 200),
        'the newer one is not ready',
      );
    },
  );
