/** A service on a Citus cluster, with clients that write during an operation. */
import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import type { FaultyCluster } from '../support/faults/faulty-cluster.ts';
import { Replica } from '../support/faults/replica.ts';
import { Workload } from '../support/faults/workload.ts';
import { query } from '../support/postgres/database-cluster.ts';
import { checkPostgres } from './environment.ts';
import { Row } from './fault-report.ts';

export const run = promisify(execFile);
export const root = fileURLToPath(new URL('../..', import.meta.url));

export const TENANTS = Array.from({ length: 12 }, (_, i) => `tenant-${i}`);
export const LIMITS = { DB_CONNECT_TIMEOUT_MS: '2000', DB_POOL_MAX: '12' };
const LIMIT_MS = 30_000;

/** Tables that clients and operators write, in an order that satisfies the foreign keys. */
export const TABLES = [
  'tenants',
  'api_keys',
  'entries',
  'versions',
  'past_directories',
  'idempotency_keys',
  'drafts',
  'draft_base',
];
/** Tables that replicas write by themselves. */
export const RECORDS = ['tenant_usage', 'fleet_usage', 'audit_events'];

export interface Scene {
  cluster: FaultyCluster;
  /** Database on the coordinator. */
  url: string;
  replicas: Replica[];
  workload: Workload;
  /**
   * Further workloads that `work` stopped. They are checked after all writes, because a Citus query over several shards
   * has no consistent snapshot.
   */
  others: Workload[];
  row: Row;
}

let databases = 0;

/**
 * Runs `work` while clients write through replicas, and checks the ledger.
 *
 * @param options.create creates the migrated database, by default distributed and empty
 * @param options.nodes nodes with a replica, by default the coordinator
 */
export async function withScene(
  cluster: FaultyCluster,
  name: string,
  work: (scene: Scene) => Promise<void>,
  options: { create?: (name: string) => Promise<string>; nodes?: (url: string) => Promise<string[]> } = {},
): Promise<Row> {
  const row = new Row(name);
  row.times = 1;
  const create = options.create ?? ((database) => createDistributed(cluster, database));
  const url = await create(`operations_${++databases}`);
  const nodes = (await options.nodes?.(url)) ?? [url];
  const replicas = await Promise.all(nodes.map((node) => Replica.create({ DATABASE_URL: node, ...LIMITS })));
  await Promise.all(replicas.map((replica) => replica.start()));
  const workload = workloadOn(replicas, TENANTS);
  workload.start();
  await workload.acknowledge(200);
  const others: Workload[] = [];
  await work({ cluster, url, replicas, workload, others, row });
  await workload.acknowledge(200);
  await workload.stop();
  for (const each of [workload, ...others]) await checkPostgres(url, each, row);
  await Promise.all(replicas.map((replica) => replica.end()));
  return row;
}

/** Creates clients that send their requests to the replicas in turn. */
export function workloadOn(replicas: Replica[], tenants: string[]): Workload {
  let turn = 0;
  const url = () => (replicas[turn++ % replicas.length] as Replica).url;
  return new Workload({ url, tenants, clientsPerTenant: 1, limitMs: LIMIT_MS });
}

async function createDistributed(cluster: FaultyCluster, name: string): Promise<string> {
  const url = await cluster.createDatabase(name);
  await migrate(url);
  return url;
}

export async function migrate(url: string, cli = 'dist/main.js'): Promise<void> {
  await run(process.execPath, [cli, 'migrate'], { cwd: root, env: { ...process.env, DATABASE_URL: url } });
}

export async function noteDuration(row: Row, what: string, work: () => Promise<unknown>): Promise<void> {
  const started = performance.now();
  await work();
  row.notes.push(`${what}: ${((performance.now() - started) / 1000).toFixed(1)} s`);
}

/** Returns each table's row count and content hash. */
export async function readContents(url: string): Promise<Record<string, string>> {
  const contents: Record<string, string> = {};
  for (const table of TABLES) {
    const [row] = await query(
      url,
      `SELECT count(*) || ' ' || coalesce(sum(hashtextextended(t::text, 0)::numeric), 0) AS contents FROM ${table} AS t`,
    );
    contents[table] = String(row?.contents);
  }
  return contents;
}
