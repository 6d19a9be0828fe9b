/** Kills the service and Postgres with SIGKILL. */
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { Replica } from '../support/faults/replica.ts';
import {
  checkNoLeak,
  checkPglite,
  checkPostgres,
  createDatabase,
  type Environment,
  HealthWatch,
  LIMITS,
  timeToAcknowledge,
  workloadOn,
} from './environment.ts';
import { Row } from './fault-report.ts';

/** Waits for a random time at which some writes are acknowledged and others are in flight. */
export const randomTime = async (workload: ReturnType<typeof workloadOn>, most = 30) => {
  await workload.acknowledge(1 + Math.floor(Math.random() * most));
  await delay(Math.random() * 40);
};

export async function killServiceOnPostgres({ postgres, option }: Environment): Promise<Row> {
  const row = new Row('kill -9 of the service, on Postgres');
  const database = await createDatabase(postgres);
  const url = postgres.url(postgres.port, database);
  const replica = await Replica.create({ DATABASE_URL: url, ...LIMITS });
  await replica.start();
  for (row.times = 0; row.times < option('KILLS', 200); row.times++) {
    const workload = workloadOn(replica, { mayBreak: true });
    workload.start();
    await randomTime(workload);
    const killed = performance.now();
    await replica.end('SIGKILL');
    await replica.start();
    await timeToAcknowledge(workload, row, killed);
    await workload.stop();
    await checkPostgres(url, workload, row);
  }
  await checkNoLeak([replica], postgres, database, row);
  await replica.end();
  return row;
}

export async function killServiceOnPglite({ scratch, option }: Environment): Promise<Row> {
  const row = new Row('kill -9 of the service, on PGlite');
  const directory = join(scratch, 'pglite');
  const replica = await Replica.create({ DATA_DIR: directory, ...LIMITS });
  await replica.start();
  for (row.times = 0; row.times < option('PGLITE_KILLS', option('KILLS', 200) / 2); row.times++) {
    const workload = workloadOn(replica, { mayBreak: true, clientsPerTenant: 2 });
    workload.start();
    await randomTime(workload, 15);
    const killed = performance.now();
    await replica.end('SIGKILL');
    await replica.start();
    await timeToAcknowledge(workload, row, killed);
    await workload.stop();
    // No write is in flight. The kill above already covered a kill during a write.
    await replica.end('SIGKILL');
    await checkPglite(directory, workload, row);
    await replica.start();
  }
  await checkNoLeak([replica], undefined, '', row);
  await replica.end();
  return row;
}

export const killPostmaster = (environment: Environment) => killPostgres(environment, 'postmaster');
export const killAllOfPostgres = (environment: Environment) => killPostgres(environment, 'all');

async function killPostgres({ postgres, option }: Environment, which: 'postmaster' | 'all'): Promise<Row> {
  const row = new Row(
    which === 'all'
      ? 'kill -9 of all Postgres processes, then a restart'
      : 'kill -9 of the postmaster, then a restart',
  );
  const database = await createDatabase(postgres);
  const url = postgres.url(postgres.port, database);
  const replica = await Replica.create({ DATABASE_URL: url, ...LIMITS });
  await replica.start();
  for (row.times = 0; row.times < option('POSTGRES_KILLS', 20); row.times++) {
    const workload = workloadOn(replica);
    const watch = new HealthWatch(replica);
    workload.start();
    await randomTime(workload);
    await postgres.kill(which);
    await delay(Math.random() * 1000);
    await postgres.start();
    await timeToAcknowledge(workload, row);
    await workload.stop();
    await watch.stop();
    row.expect(!watch.sawDead, '/healthz was not 200');
    await checkPostgres(url, workload, row);
    await checkNoLeak([replica], postgres, database, row);
  }
  await replica.end();
  return row;
}

export async function killBackend({ postgres, option }: Environment): Promise<Row> {
  const row = new Row('kill -9 of one Postgres backend (the server recovers by itself)');
  const database = await createDatabase(postgres);
  const url = postgres.url(postgres.port, database);
  const replica = await Replica.create({ DATABASE_URL: url, ...LIMITS });
  await replica.start();
  for (row.times = 0; row.times < option('POSTGRES_KILLS', 20); row.times++) {
    const workload = workloadOn(replica);
    workload.start();
    await randomTime(workload);
    await postgres.killBackend();
    await timeToAcknowledge(workload, row);
    await workload.acknowledge(20);
    await workload.stop();
    await checkPostgres(url, workload, row);
    await checkNoLeak([replica], postgres, database, row);
  }
  await replica.end();
  return row;
}
