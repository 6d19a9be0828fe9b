/** Every kind of database failure while the service runs. */
import { execFile } from 'node:child_process';
import { chownSync, readFileSync } from 'node:fs';
import { mkdir, rm, statfs, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { promisify } from 'node:util';
import pg from 'pg';
import { freePort, PostgresServer } from '../support/faults/postgres-server.ts';
import { TcpProxy } from '../support/faults/proxies.ts';
import { Replica } from '../support/faults/replica.ts';
import type { WorkloadOptions } from '../support/faults/workload.ts';
import {
  checkNoLeak,
  checkPostgres,
  createDatabase,
  type Environment,
  HealthWatch,
  LIMITS,
  timeToAcknowledge,
  workloadOn,
} from './environment.ts';
import { Row } from './fault-report.ts';
import { randomTime } from './kills.ts';

const run = promisify(execFile);

interface Fault {
  name: string;
  times: number;
  postgres: PostgresServer;
  /** Returns the service's URL for the database. By default, the service connects directly. */
  url?: (database: string) => string;
  inject(database: string): Promise<void> | void;
  holdMs: number;
  heal(): Promise<void> | void;
  /** Whether /readyz must fail during the failure. */
  makesUnready: boolean;
  workload?: Partial<WorkloadOptions>;
}

/** Injects and ends a failure `times` times while clients write. */
async function injectRepeatedly(fault: Fault): Promise<Row> {
  const { postgres, times, workload: options = {} } = fault;
  const row = new Row(fault.name);
  const database = await createDatabase(postgres);
  const replica = await Replica.create({
    DATABASE_URL: fault.url?.(database) ?? postgres.url(postgres.port, database),
    ...LIMITS,
  });
  await replica.start();
  const { pid } = replica;
  for (row.times = 0; row.times < times; row.times++) {
    const workload = workloadOn(replica, options);
    workload.start();
    await randomTime(workload);
    const watch = new HealthWatch(replica);
    await fault.inject(database);
    await delay(fault.holdMs);
    await fault.heal();
    await timeToAcknowledge(workload, row);
    await watch.stop();
    await workload.stop();
    if (fault.makesUnready) row.expect(watch.sawUnready, '/readyz did not become 503');
    row.expect(!watch.sawDead, '/healthz was not 200');
    row.expect(replica.pid === pid, 'the service was restarted');
    await checkPostgres(postgres.url(postgres.port, database), workload, row);
    await checkNoLeak([replica], postgres, database, row);
  }
  await replica.end();
  return row;
}

const TERMINATE = `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'memory-service'`;

export const terminateBackends = ({ postgres, option }: Environment) =>
  injectRepeatedly({
    name: 'pg_terminate_backend of all backends',
    times: option('TERMINATIONS', 50),
    postgres,
    inject: async () => void (await postgres.query(TERMINATE)),
    holdMs: 0,
    heal: () => {},
    makesUnready: false,
  });

export const freeze = ({ postgres, option }: Environment) =>
  injectRepeatedly({
    name: 'Postgres frozen (SIGSTOP) for 8 s',
    times: option('FREEZES', 5),
    postgres,
    inject: () => postgres.freeze(),
    holdMs: 8000,
    heal: () => postgres.thaw(),
    makesUnready: true,
  });

export const rejectConnections = ({ postgres, option }: Environment) =>
  injectRepeatedly({
    name: 'connection rejected (Postgres stopped and restarted)',
    times: option('STOPS', 10),
    postgres,
    inject: () => postgres.stop(),
    holdMs: 1500,
    heal: () => postgres.start(),
    makesUnready: true,
  });

export async function failover({ postgres, option }: Environment): Promise<Row> {
  const first = postgres.port;
  const second = await freePort();
  const proxy = new TcpProxy({ host: '127.0.0.1', port: first });
  await proxy.open();
  try {
    return await injectRepeatedly({
      name: 'failover to another address; old connections are blackholed',
      times: option('FAILOVERS', 5),
      postgres,
      url: (database) => postgres.url(proxy.port, database),
      inject: async () => {
        proxy.blackhole();
        await postgres.stop('immediate');
      },
      holdMs: 300,
      heal: async () => {
        await postgres.start(postgres.port === first ? second : first);
        proxy.target = { host: '127.0.0.1', port: postgres.port };
      },
      makesUnready: false,
    });
  } finally {
    await proxy.reject();
  }
}

export const fullDataDisk = (environment: Environment) => fullDisk(environment, 'data');
export const fullLogDisk = (environment: Environment) => fullDisk(environment, 'wal');
export const deadlocks = (environment: Environment) => conflicts(environment, 'deadlock');
export const serializationFailures = (environment: Environment) => conflicts(environment, 'serialization');

export async function tooManyConnections({ postgres, option }: Environment): Promise<Row> {
  const hogs: pg.Client[] = [];
  let hogging: Promise<void> | undefined;
  let holding = false;
  const hogConnections = async () => {
    while (holding) {
      const client = new pg.Client({ connectionString: postgres.url(), application_name: 'hog' });
      client.on('error', () => {});
      await client.connect().then(
        () => hogs.push(client),
        () => delay(5),
      );
    }
  };
  return injectRepeatedly({
    name: 'too many connections (all taken by others)',
    times: option('CROWDS', 5),
    postgres,
    inject: async () => {
      holding = true;
      const first = new pg.Client({ connectionString: postgres.url(), application_name: 'hog' });
      first.on('error', () => {});
      await first.connect();
      hogs.push(first);
      hogging = hogConnections();
      // Terminates the connections that the service manages to open.
      for (const until = Date.now() + 1500; Date.now() < until; await delay(20)) await first.query(TERMINATE);
    },
    holdMs: 500,
    heal: async () => {
      holding = false;
      await hogging;
      await Promise.all(hogs.splice(0).map((client) => client.end()));
    },
    makesUnready: true,
  });
}

/** Runs Postgres with its data or its write-ahead log on a small tmpfs. Mounting a tmpfs requires root. */
async function fullDisk({ scratch, binaries, option }: Environment, which: 'data' | 'wal'): Promise<Row> {
  const name =
    which === 'data' ? 'full disk (data)' : 'full disk (write-ahead log: Postgres exits and is restarted)';
  const directory = join(scratch, `full-${which}`);
  const disk = join(directory, 'disk');
  await mkdir(disk, { recursive: true });
  chownSync(directory, 65534, 65534);
  try {
    await run('mount', ['-t', 'tmpfs', '-o', `size=${which === 'data' ? 64 : 24}m,uid=65534`, 'tmpfs', disk]);
  } catch (error) {
    const row = new Row(name);
    row.skipped = `no tmpfs can be mounted here (${String(error).split('\n')[0]})`;
    return row;
  }
  let postgres: PostgresServer | undefined;
  try {
    postgres = await PostgresServer.create({
      binaries,
      directory,
      data: join(which === 'data' ? disk : directory, 'data'),
      settings: ['max_wal_size=4MB', 'min_wal_size=2MB'],
      initdb: ['--wal-segsize=1', '--waldir', join(which === 'wal' ? disk : directory, 'wal')],
    });
    const server = postgres;
    const ballast = join(disk, 'ballast');
    return await injectRepeatedly({
      name,
      times: option('FULL_DISKS', 5),
      postgres,
      inject: async () => {
        const { bavail, bsize } = await statfs(disk);
        await writeFile(ballast, Buffer.alloc(bavail * bsize)).catch(() => {});
      },
      holdMs: 3000,
      heal: async () => {
        await rm(ballast);
        if (which === 'wal') {
          await server.stop('immediate');
          await server.start();
        }
      },
      makesUnready: false,
      // Incompressible text, so that writes soon need new pages.
      workload: { text: () => Array.from({ length: 400 }, () => Math.random().toString(36)).join('') },
    });
  } finally {
    await postgres?.stop('immediate');
    await run('umount', [disk]);
  }
}

/** Runs a second client that locks in the opposite order or changes rows that the service's statement has read. */
async function conflicts(
  { postgres, scratch, option }: Environment,
  kind: 'deadlock' | 'serialization',
): Promise<Row> {
  const row = new Row(
    kind === 'deadlock' ? 'deadlocks with another client' : 'serialization failures (isolation serializable)',
  );
  const database = await createDatabase(postgres);
  const url = postgres.url(postgres.port, database);
  if (kind === 'serialization')
    await postgres.query(`ALTER DATABASE ${database} SET default_transaction_isolation = 'serializable'`);
  await postgres.query(`ALTER DATABASE ${database} SET deadlock_timeout = '20ms'`);
  const replicas: Replica[] = [];
  for (let i = 0; i < 2; i++) replicas.push(await Replica.create({ DATABASE_URL: url, ...LIMITS }));
  for (const replica of replicas) await replica.start();
  const log = join(scratch, 'postgres', 'log');
  const pattern = kind === 'deadlock' ? /ERROR: {2}deadlock detected/g : /ERROR: {2}could not serialize/g;
  const count = () => readFileSync(log, 'utf8').match(pattern)?.length ?? 0;
  const before = count();
  let rivals = 0;
  let turn = 0;
  const workload = workloadOn(replicas[0] as Replica, {
    url: () => (replicas[turn++ % 2] as Replica).url,
    tenants: ['a', 'b'],
  });
  workload.start();
  await workload.acknowledge(20);
  let rival = true;
  const client = new pg.Client({ connectionString: url });
  client.on('error', () => {});
  await client.connect();
  const rivalry = (async () => {
    for (let n = 0; rival; n++) {
      const tenant = n % 2 ? 'a' : 'b';
      try {
        await client.query('BEGIN');
        if (kind === 'deadlock') {
          await client.query(
            `SELECT 1 FROM entries WHERE tenant_id = $1 AND path = '/memories/log' FOR UPDATE`,
            [tenant],
          );
          await delay(15);
          await client.query('SELECT 1 FROM tenants WHERE id = $1 FOR UPDATE', [tenant]);
        } else {
          await client.query('UPDATE tenants SET updated_at = now() WHERE id = $1', [tenant]);
          await delay(5);
        }
        await client.query('COMMIT');
      } catch {
        rivals++;
        await client.query('ROLLBACK');
      }
    }
  })();
  const until = Date.now() + 60_000;
  while (count() - before - rivals < option('CONFLICTS', 100) && Date.now() < until) await delay(200);
  rival = false;
  await rivalry;
  await client.end();
  await timeToAcknowledge(workload, row);
  await workload.stop();
  row.times = count() - before - rivals;
  row.notes.push(`and ${rivals} hit the other client`);
  await checkPostgres(url, workload, row);
  await checkNoLeak(replicas, postgres, database, row);
  for (const replica of replicas) await replica.end();
  return row;
}
