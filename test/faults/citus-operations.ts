/** Operations on a Citus cluster while clients write. Each has its own database, and ends with the ledger's check. */
import { execFile } from 'node:child_process';
import { cp, readFile, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import type { FaultyCluster } from '../support/faults/cluster.ts';
import { Replica } from '../support/faults/replica.ts';
import { Workload } from '../support/faults/workload.ts';
import { query } from '../support/postgres/cluster.ts';
import { checkPostgres, timeToAcknowledge, within } from './environment.ts';
import { Row } from './report.ts';

const run = promisify(execFile);
const root = fileURLToPath(new URL('../..', import.meta.url));

const TENANTS = Array.from({ length: 12 }, (_, i) => `tenant-${i}`);
/** Of a second workload, with a ledger of its own. */
const OTHERS = TENANTS.map((tenant) => `other-${tenant}`);
const LIMITS = { DB_CONNECT_TIMEOUT_MS: '2000', DB_POOL_MAX: '12' };
const LIMIT_MS = 30_000;

interface Scene {
  cluster: FaultyCluster;
  /** The database on the coordinator. */
  url: string;
  replicas: Replica[];
  workload: Workload;
  row: Row;
}

let databases = 0;

/** Runs `work` while clients write through replicas at some nodes, and checks the ledger. */
async function during(
  cluster: FaultyCluster,
  name: string,
  work: (scene: Scene) => Promise<void>,
  options: { nodes?: (url: string) => Promise<string[]>; tenants?: string[] } = {},
): Promise<Row> {
  const row = new Row(name);
  row.times = 1;
  const url = await cluster.createDatabase(`operations_${++databases}`);
  await run(process.execPath, ['dist/cli.js', 'migrate'], {
    cwd: root,
    env: { ...process.env, DATABASE_URL: url },
  });
  const nodes = (await options.nodes?.(url)) ?? [url];
  const replicas = await Promise.all(nodes.map((node) => Replica.create({ DATABASE_URL: node, ...LIMITS })));
  await Promise.all(replicas.map((replica) => replica.start()));
  const workload = workloadOn(replicas, options.tenants ?? TENANTS);
  workload.start();
  await workload.acknowledge(200);
  await work({ cluster, url, replicas, workload, row });
  await workload.acknowledge(200);
  await workload.stop();
  await checkPostgres(url, workload, row);
  await Promise.all(replicas.map((replica) => replica.end()));
  return row;
}

/** Clients whose requests go to the replicas in turn. */
function workloadOn(replicas: Replica[], tenants: string[]): Workload {
  let turn = 0;
  const url = () => (replicas[turn++ % replicas.length] as Replica).url;
  return new Workload({ url, tenants, clientsPerTenant: 1, limitMs: LIMIT_MS });
}

async function timed(row: Row, what: string, work: () => Promise<unknown>): Promise<void> {
  const started = performance.now();
  await work();
  row.notes.push(`${what}: ${((performance.now() - started) / 1000).toFixed(1)} s`);
}

const addWorker = (cluster: FaultyCluster) =>
  during(cluster, 'worker added, shards moved to it', async ({ url, row }) => {
    await cluster.addWorker();
    await timed(row, 'rebalance', async () => {
      await query(url, 'SELECT citus_rebalance_start()');
      await query(url, 'SELECT citus_rebalance_wait()');
    });
    const shards = await query(
      url,
      "SELECT nodeport, count(*)::integer AS shards FROM citus_shards WHERE table_name = 'entries'::regclass GROUP BY 1 ORDER BY 1",
    );
    row.expect(shards.length === 3, `shards are on ${shards.length} nodes`);
    row.notes.push(`shards on each worker: ${shards.map((each) => each.shards).join(', ')}`);
  });

const isolateTenant = (cluster: FaultyCluster) =>
  during(cluster, 'four tenants, each moved to a shard of its own', async ({ url, row, workload }) => {
    row.times = 4;
    for (const tenant of TENANTS.slice(0, row.times)) {
      await workload.acknowledge(50);
      await timed(row, tenant, () => query(url, ISOLATE, [tenant]));
    }
  });

// With 'auto', which lets writes through for longer, the split does not come to an end on Citus 13.2.2 while its tenants write.
const ISOLATE =
  "SELECT isolate_tenant_to_new_shard('tenants', $1::text, 'CASCADE', shard_transfer_mode => 'block_writes')";

/** Which of some tenants have their shard at a port. */
async function tenantsAt(url: string, port: string, tenants: string[]): Promise<string[]> {
  const rows = await query(
    url,
    `SELECT t.id FROM unnest($1::text[]) AS t (id) JOIN citus_shards AS s
       ON s.shardid = get_shard_id_for_distribution_column('tenants', t.id)
     WHERE s.nodeport = $2::integer`,
    [tenants, port],
  );
  return rows.map(({ id }) => String(id));
}

async function killWorker(cluster: FaultyCluster): Promise<Row> {
  return during(
    cluster,
    'kill -9 of a worker, started again after 5 s',
    async ({ url, replicas, workload, row }) => {
      const [worker = ''] = await cluster.workers(url);
      const { port } = new URL(worker);
      const away = await tenantsAt(url, port, TENANTS);
      const alsoAway = await tenantsAt(url, port, OTHERS);
      const others = workloadOn(
        replicas,
        OTHERS.filter((tenant) => !alsoAway.includes(tenant)),
      );
      others.start();
      await others.acknowledge(50);
      await cluster.kill(1);
      const before = others.acknowledged;
      await delay(5000);
      row.notes.push(
        `${away.length} of ${TENANTS.length} tenants were on it; writes of the others meanwhile: ${others.acknowledged - before}`,
      );
      await cluster.restart(1);
      await timeToAcknowledge(workload, row);
      await others.stop();
      await checkPostgres(url, others, row);
      row.expect(others.acknowledged > before, 'the other tenants were disturbed');
      const failed = [...others.statuses].filter(([status]) => status !== '200');
      row.expect(
        failed.length === 0,
        `requests of other tenants ended with ${failed.map(([status]) => status).join(', ')}`,
      );
      row.expect([...workload.statuses.keys()].includes('503'), 'no request was refused');
    },
  );
}

const restartCoordinator = (cluster: FaultyCluster) =>
  during(cluster, 'kill -9 of the coordinator, started again after 2 s', async ({ workload, row }) => {
    await cluster.kill(0);
    await delay(2000);
    await cluster.restart(0);
    await timeToAcknowledge(workload, row);
  });

const anyNode = (cluster: FaultyCluster) =>
  during(
    cluster,
    'reads and writes through every node; the coordinator killed for 2 s',
    async ({ url, workload, row, replicas }) => {
      await workload.acknowledge(300);
      const through = workloadOn(replicas.slice(1), OTHERS);
      through.start();
      await through.acknowledge(50);
      await cluster.kill(0);
      await delay(2000);
      await cluster.restart(0);
      await through.stop();
      await checkPostgres(url, through, row);
      const failed = [...through.statuses].filter(([status]) => status !== '200');
      row.expect(
        failed.length === 0,
        `requests through workers ended with ${failed.map(([status]) => status).join(', ')}`,
      );
      row.notes.push(`through workers: ${through.acknowledged} writes, no error`);
    },
    { nodes: async (url) => [url, ...(await cluster.workers(url))] },
  );

/** The tables in an order in which their foreign keys hold. */
const DATA = [
  'tenants',
  'api_keys',
  'entries',
  'versions',
  'version_contents',
  'past_directories',
  'idempotency_keys',
];

const dumpAndRestore = (cluster: FaultyCluster, scratch: string) =>
  during(cluster, 'dump, and restore into another cluster database', async ({ url, row, workload }) => {
    await workload.stop();
    const target = await cluster.createDatabase(`operations_restored`);
    const env = { ...process.env, DATABASE_URL: target };
    await timed(row, 'dump', () =>
      run('pg_dump', [
        '--data-only',
        '--format=custom',
        '--schema=public',
        `--file=${join(scratch, 'dump')}`,
        url,
      ]),
    );
    await run(process.execPath, ['dist/cli.js', 'migrate'], { cwd: root, env });
    await timed(row, 'restore', async () => {
      for (const table of DATA) {
        await run('pg_restore', [
          '--data-only',
          '--exit-on-error',
          `--table=${table}`,
          `--dbname=${target}`,
          join(scratch, 'dump'),
        ]);
      }
    });
    for (const table of DATA) {
      const [counts] = await Promise.all(
        [url, target].map((each) =>
          query(
            each,
            `SELECT count(*)::integer AS n, md5(string_agg(md5(t::text), '' ORDER BY md5(t::text))) AS hash FROM ${table} AS t`,
          ),
        ),
      ).then(([a, b]) => [JSON.stringify(a) === JSON.stringify(b)]);
      row.expect(counts === true, `${table} differs after the restore`);
    }
    workload.start();
  });

/** A copy of this build that has one more migration and newer functions. */
async function nextVersion(scratch: string): Promise<string> {
  const folder = join(scratch, 'next');
  for (const name of ['dist', 'migrations', 'package.json'])
    await cp(join(root, name), join(folder, name), { recursive: true });
  await symlink(join(root, 'node_modules'), join(folder, 'node_modules'));
  const journalFile = join(folder, 'migrations/meta/_journal.json');
  const journal = JSON.parse(await readFile(journalFile, 'utf8'));
  const last = journal.entries.at(-1);
  journal.entries.push({ ...last, idx: last.idx + 1, when: last.when + 1000, tag: '9999_next' });
  await writeFile(journalFile, JSON.stringify(journal));
  await writeFile(
    join(folder, 'migrations/9999_next.sql'),
    `ALTER TABLE "entries" ADD COLUMN "next" text COLLATE "C";--> statement-breakpoint
ALTER TABLE "api_keys" ADD COLUMN "next" text COLLATE "C";--> statement-breakpoint
CREATE INDEX "versions_next" ON "versions" USING btree ("tenant_id","operation");`,
  );
  const code = join(folder, 'dist/postgres/migrate.js');
  const source = await readFile(code, 'utf8');
  const next = source.replace(/FUNCTIONS_VERSION = (\d+)/, (_, n) => `FUNCTIONS_VERSION = ${Number(n) + 1}`);
  if (next === source) throw new Error('FUNCTIONS_VERSION is not where it was.');
  await writeFile(code, next);
  return join(folder, 'dist/cli.js');
}

const twoVersions = (cluster: FaultyCluster, scratch: string) =>
  during(
    cluster,
    'two versions side by side, the newer one migrates',
    async ({ url, row, replicas, workload }) => {
      const cli = await nextVersion(scratch);
      await timed(row, 'migration', () =>
        run(process.execPath, [cli, 'migrate'], { env: { ...process.env, DATABASE_URL: url } }),
      );
      const newer = await Replica.create({ DATABASE_URL: url, ...LIMITS }, cli);
      await newer.start();
      replicas.push(newer);
      await workload.acknowledge(400);
      const failed = [...workload.statuses].filter(([status]) => status !== '200');
      row.expect(failed.length === 0, `requests ended with ${failed.map(([status]) => status).join(', ')}`);
      row.expect(
        await within(5000, async () => (await newer.status('/readyz')) === 200),
        'the newer one is not ready',
      );
    },
  );

export const operations = {
  addWorker,
  isolateTenant,
  killWorker,
  restartCoordinator,
  anyNode,
  dumpAndRestore,
  twoVersions,
};
