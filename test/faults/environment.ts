/** Environment for the fault tests: a Postgres server, its databases, and the checks after a failure. */
import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import pg from 'pg';
import { loadConfig } from '../../src/core/config.ts';
import { openDatabase } from '../../src/core/database/open-database.ts';
import { BATCH_CONNECTIONS } from '../../src/core/database/pg.ts';
import type { Value } from '../../src/core/database/query.ts';
import type { PostgresServer } from '../support/faults/postgres-server.ts';
import type { Replica } from '../support/faults/replica.ts';
import { type Query, type TimeSpan, Workload, type WorkloadOptions } from '../support/faults/workload.ts';
import { assertInvariants } from '../support/invariants.ts';
import { numberedQuery } from '../support/numbered-query.ts';
import type { Service } from '../support/test-service.ts';
import type { Row } from './fault-report.ts';

export interface Environment {
  /** Directory for files, accessible to the unprivileged user. */
  scratch: string;
  binaries: string;
  postgres: PostgresServer;
  /**
   * Returns a number from an environment variable.
   *
   * @param short default for the short form
   */
  option(name: string, defaultValue: number, short?: number): number;
}

export const POOL = 5;

/** Short timeouts, so that a run can include many failures. */
export const LIMITS = {
  DB_POOL_MAX: String(POOL),
  DB_CONNECT_TIMEOUT_MS: '1000',
  DB_STATEMENT_TIMEOUT_MS: '1500',
  DB_LOCK_TIMEOUT_MS: '1000',
  HANDLER_TIMEOUT_MS: '5000',
};

/** HANDLER_TIMEOUT_MS plus a margin for a busy machine. */
export const LIMIT_MS = 6500;

export function workloadOn(replica: Replica, options: Partial<WorkloadOptions> = {}): Workload {
  const id = randomUUID().slice(0, 8);
  return new Workload({
    url: () => replica.url,
    tenants: [`${id}-1`, `${id}-2`],
    clientsPerTenant: 4,
    limitMs: LIMIT_MS,
    ...options,
  });
}

let databases = 0;

export async function createDatabase(postgres: PostgresServer): Promise<string> {
  const name = `faults_${++databases}`;
  await postgres.query(`CREATE DATABASE ${name}`);
  return name;
}

/** @param copiedAt time at which the database was copied, if it was copied */
export async function checkPostgres(
  url: string,
  workload: Workload,
  row: Row,
  copiedAt?: TimeSpan,
): Promise<void> {
  const client = new pg.Client({ connectionString: url });
  client.on('error', () => {});
  await client.connect();
  try {
    await check(
      async (sql, parameters) => (await client.query(sql, parameters)).rows,
      workload,
      row,
      copiedAt,
    );
  } finally {
    await client.end();
  }
}

/** @param directory data directory that is not in use */
export async function checkPglite(directory: string, workload: Workload, row: Row): Promise<void> {
  const database = await openDatabase(loadConfig({ AUTH: 'none', DATA_DIR: directory }));
  try {
    const query: Query = async (sql, parameters = []) => {
      const { statement, params } = numberedQuery<pg.QueryResultRow>(sql, parameters as Value[]);
      return (await database.query(statement, params)).rows;
    };
    await check(query, workload, row);
  } finally {
    await database.close();
  }
}

async function check(query: Query, workload: Workload, row: Row, copiedAt?: TimeSpan): Promise<void> {
  row.add(await workload.verify(query, copiedAt), workload);
  // assertInvariants only uses the service's `query`.
  await assertInvariants({ query } as Pick<Service, 'query'> as Service).catch((error) =>
    row.wrong.push(String(error)),
  );
}

/** Checks that no request is in flight and that the connections fit the two pools. */
export async function checkNoLeak(
  replicas: Replica[],
  postgres: PostgresServer | undefined,
  database: string,
  row: Row,
): Promise<void> {
  for (const replica of replicas) {
    const isIdle = await becomesTrue(
      15_000,
      async () => (await replica.metric('memory_requests_in_flight')) === 0,
    );
    row.expect(isIdle, `memory_requests_in_flight is ${await replica.metric('memory_requests_in_flight')}`);
    row.expect((await replica.status('/readyz')) === 200, '/readyz is not 200 after the fault');
  }
  if (!postgres) return;
  const connections = async () => {
    const rows = await postgres.query(
      `SELECT count(*)::int AS n FROM pg_stat_activity WHERE application_name = 'memory-service' AND datname = $1`,
      [database],
    );
    return Number(rows[0]?.n);
  };
  const isWithinPool = await becomesTrue(
    15_000,
    async () => (await connections()) <= (POOL + BATCH_CONNECTIONS) * replicas.length,
  );
  row.expect(isWithinPool, `${await connections()} connections are open`);
}

/** Polls a condition until a time limit. Returns whether the condition became true. */
export async function becomesTrue(ms: number, condition: () => Promise<boolean>): Promise<boolean> {
  for (const deadline = Date.now() + ms; Date.now() < deadline; await delay(20))
    if (await condition()) return true;
  return false;
}

/** Records the time until the service acknowledges a write. */
export async function timeToAcknowledge(
  workload: Workload,
  row: Row,
  since = performance.now(),
): Promise<void> {
  const acknowledged = workload.acknowledge(1).then(() => true);
  if (await Promise.race([acknowledged, delay(60_000, false, { ref: false })]))
    row.noteRecovery(performance.now() - since);
  else row.wrong.push('no write was acknowledged within a minute of the end of the fault');
}

/** Polls /healthz and /readyz until it is stopped. */
export class HealthWatch {
  sawUnready = false;
  sawDead = false;
  #stopped = false;
  readonly #done: Promise<void>;

  constructor(replica: Replica) {
    const poll = async () => {
      while (!this.#stopped) {
        if ((await replica.status('/readyz')) === 503) this.sawUnready = true;
        if ((await replica.status('/healthz')) !== 200) this.sawDead = true;
        await delay(50);
      }
    };
    this.#done = poll();
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    await this.#done;
  }
}
