/** Two replicas on one database, started simultaneously and restarted in turn under load. */
import { readFileSync } from 'node:fs';
import { Balancer } from '../support/faults/proxies.ts';
import { Replica } from '../support/faults/replica.ts';
import {
  becomesTrue,
  checkNoLeak,
  checkPostgres,
  createDatabase,
  type Environment,
  LIMITS,
  workloadOn,
} from './environment.ts';
import { Row } from './fault-report.ts';

const PROBE_MS = 100;

export async function rollingRestarts({ postgres, option }: Environment): Promise<Row> {
  const row = new Row(
    'rolling restart of two replicas behind a round-robin proxy (each restart counts one replica)',
  );
  const database = await createDatabase(postgres);
  const url = postgres.url(postgres.port, database);
  const env = { DATABASE_URL: url, ...LIMITS, SHUTDOWN_DELAY_MS: '1000' };
  const replicas = [await Replica.create(env), await Replica.create(env)];
  await Promise.all(replicas.map((replica) => replica.start()));
  const balancer = new Balancer(
    replicas.map((replica) => replica.url),
    PROBE_MS,
  );
  const front = await balancer.open();
  const workload = workloadOn(replicas[0] as Replica, { url: () => front });
  workload.start();
  await workload.acknowledge(20);
  for (row.times = 0; row.times < option('RESTARTS', 20); row.times++) {
    const replica = replicas[row.times % 2] as Replica;
    row.expect((await replica.end('SIGTERM')) === 0, 'a replica did not exit with 0');
    const stopped = performance.now();
    await replica.start();
    row.noteRecovery(performance.now() - stopped);
    row.expect(await becomesTrue(10_000, async () => balancer.ready === 2), 'a replica did not come back');
    await workload.acknowledge(10);
  }
  await workload.stop();
  const failed = [...workload.statuses].filter(([status]) => status !== '200');
  row.expect(failed.length === 0, `requests failed: ${failed.map(([status]) => status).join(', ')}`);
  await checkPostgres(url, workload, row);
  await checkNoLeak(replicas, postgres, database, row);
  balancer.close();
  await Promise.all(replicas.map((replica) => replica.end()));
  return row;
}

export async function startsAtOnce({ postgres, option }: Environment): Promise<Row> {
  const row = new Row('two replicas start simultaneously on an empty database');
  const journal = JSON.parse(
    readFileSync(new URL('../../migrations/meta/_journal.json', import.meta.url), 'utf8'),
  ) as { entries: unknown[] };
  for (row.times = 0; row.times < option('STARTS', 5); row.times++) {
    const database = await createDatabase(postgres);
    const env = { DATABASE_URL: postgres.url(postgres.port, database), ...LIMITS };
    const replicas = [await Replica.create(env), await Replica.create(env)];
    await Promise.all(replicas.map((replica) => replica.start()));
    const sql = 'SELECT count(*)::int AS n FROM drizzle.__drizzle_migrations';
    const [applied] = await postgres.query(sql, [], database);
    row.expect(applied?.n === journal.entries.length, `${applied?.n} migrations were applied`);
    let turn = 0;
    const workload = workloadOn(replicas[0] as Replica, { url: () => (replicas[turn++ % 2] as Replica).url });
    workload.start();
    await workload.acknowledge(20);
    await workload.stop();
    await checkPostgres(env.DATABASE_URL, workload, row);
    await Promise.all(replicas.map((replica) => replica.end()));
  }
  return row;
}
