/**
 * `npm run bench -- latency`: measures request times at a share of the service's highest load. For each workload, it
 * finds the highest rate, sends 70 % of it, and prints p50, p99, and p99.9. To explain the slowest requests, it also
 * prints the service's garbage collections and the synchronizations of Postgres' log.
 *
 * Environment: SHARE (percent, 70), SECONDS (10), CONNECTIONS, TENANTS; ONLY (comma-separated workloads);
 * TEST_DATABASE_URL and TEST_POSTGRES as for the tests.
 */
import { progress, setting, withCleanup } from './support/cleanup.ts';
import { LOAD_SETTINGS, prepare } from './support/contestants.ts';
import { Worker } from './support/job.ts';
import { startPostgres } from './support/postgres.ts';
import { SERVICE, startServer } from './support/process.ts';
import { describeWorkload, type Workload, workloads } from './support/workloads.ts';

const SHARE = setting('SHARE', 70) / 100;
const SECONDS = setting('SECONDS', 10);
const CONNECTIONS = setting('CONNECTIONS', 32);
const TENANTS = setting('TENANTS', 200);
const PEAK_SECONDS = 3;
const only = process.env.ONLY?.split(',') ?? ['view', 'create', 'str_replace', 'mix'];

/** Totals since the start. A measurement uses their differences. */
interface Totals {
  collections: number;
  collectionSeconds: number;
  syncs: number;
  syncMs: number;
}

await withCleanup(async (scratch, later) => {
  const server = await startPostgres(scratch);
  later(() => server.stop());
  const { url: DATABASE_URL, query } = await server.createDatabase();
  await query('ALTER SYSTEM SET track_wal_io_timing = on');
  await query('SELECT pg_reload_conf()');
  await prepare({ DATABASE_URL }, TENANTS);
  await query('CHECKPOINT');
  const env = { ...LOAD_SETTINGS, DATABASE_URL, AUTH: 'none' };
  const service = await startServer(SERVICE, { env, scratch, name: 'service', ready: '/readyz' });
  later(() => service.stop());
  const load = new Worker('load.ts');
  later(() => load.stop());

  async function readTotals(): Promise<Totals> {
    const metrics = await (await fetch(`${service.url}/metrics`)).text();
    const sum = (name: string) =>
      [...metrics.matchAll(new RegExp(`^nodejs_gc_duration_seconds_${name}\\{.*\\} (.*)$`, 'gm'))]
        .map(([, value]) => Number(value))
        .reduce((all, each) => all + each, 0);
    const [wal] = await query(
      `SELECT COALESCE(sum(fsyncs), 0)::float8 AS syncs, COALESCE(sum(fsync_time), 0)::float8 AS ms
       FROM pg_stat_io WHERE object = 'wal'`,
    );
    return {
      collections: sum('count'),
      collectionSeconds: sum('sum'),
      syncs: Number(wal?.syncs),
      syncMs: Number(wal?.ms),
    };
  }
  const measure = (workload: Workload, seconds: number, rate?: number) =>
    load.measure({
      workload,
      url: service.url,
      headers: {},
      keyed: false,
      connections: CONNECTIONS,
      tenants: TENANTS,
      warmUpSeconds: 2,
      seconds,
      run: `${workload}-${rate ?? 'peak'}`,
      ...(rate === undefined ? {} : { rate }),
    });

  console.log(`${server.description}. ${CONNECTIONS} connections, ${TENANTS} tenants.\n`);
  console.log(
    '| | highest rate | rate | p50, ms | p99, ms | p99.9, ms | longest, ms | collections: number, mean ms | syncs: number, mean ms | failures |',
  );
  console.log('|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|');
  for (const workload of workloads.filter((each) => only.includes(each))) {
    const { rate: highest } = await measure(workload, PEAK_SECONDS);
    const before = await readTotals();
    const at = await measure(workload, SECONDS, Math.round(SHARE * highest));
    const after = await readTotals();
    const collections = after.collections - before.collections;
    const collectionMs = 1000 * (after.collectionSeconds - before.collectionSeconds);
    const syncs = after.syncs - before.syncs;
    const mean = (sum: number, count: number) => (count === 0 ? '' : `, ${(sum / count).toFixed(1)}`);
    progress(`${workload}: ${at.rate.toFixed(0)} of ${highest.toFixed(0)} requests/s`);
    const times = [at.p50, at.p99, at.p999, at.max].map((each) => each.toFixed(1)).join(' | ');
    console.log(
      `| ${describeWorkload[workload]} | ${highest.toFixed(0)} | ${at.rate.toFixed(0)} | ${times} | ${collections}${mean(collectionMs, collections)} | ${syncs}${mean(after.syncMs - before.syncMs, syncs)} | ${at.failures} |`,
    );
  }
});
