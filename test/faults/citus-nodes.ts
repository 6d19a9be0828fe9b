/**
 * Operations on the nodes in a Citus cluster while clients write. Each operation uses a separate database and ends with
 * the ledger check.
 */
import { setTimeout as delay } from 'node:timers/promises';
import type { FaultyCluster } from '../support/faults/faulty-cluster.ts';
import type { Workload } from '../support/faults/workload.ts';
import { query } from '../support/postgres/database-cluster.ts';
import { noteDuration, root, run, TENANTS, withScene, workloadOn } from './citus-scene.ts';
import { timeToAcknowledge } from './environment.ts';
import type { Row } from './fault-report.ts';

/** Tenants in a second workload with a separate ledger. */
const OTHERS = TENANTS.map((tenant) => `other-${tenant}`);

export const addWorker = (cluster: FaultyCluster) =>
  withScene(cluster, 'worker added, shards moved to it', async ({ url, row }) => {
    await cluster.addWorker();
    await noteDuration(row, 'rebalance', async () => {
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

export const isolateTenant = (cluster: FaultyCluster) =>
  withScene(cluster, 'four tenants, each moved to a shard of its own', async ({ url, row, workload }) => {
    row.times = 4;
    for (const tenant of TENANTS.slice(0, row.times)) {
      await workload.acknowledge(50);
      await noteDuration(row, tenant, () => query(url, ISOLATE, [tenant]));
    }
  });

// Blocks writes, because a split with `auto` does not finish on Citus 13.2.2 while its tenants write.
const ISOLATE =
  "SELECT isolate_tenant_to_new_shard('tenants', $1::text, 'CASCADE', shard_transfer_mode => 'block_writes')";

/** Returns the tenants whose shard is at a port. */
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

/** Changes a tenant while another node is down, and expects the change in the audit trail. */
async function administer(url: string, tenant: string, row: Row): Promise<void> {
  const memoryService = (...args: string[]) =>
    run(process.execPath, ['dist/main.js', ...args], {
      cwd: root,
      env: { ...process.env, DATABASE_URL: url },
    });
  await memoryService('tenants', 'set', tenant, '--max-files', '1000');
  await memoryService('find', 'text', '--tenant', tenant);
  await memoryService('revert', tenant, '--by', 'anonymous', '--since', '1h', '--dry-run');
  const { stdout } = await memoryService('audit', '--tenant', tenant, '--json');
  row.expect(
    stdout.includes('"updateTenant"'),
    'the audit trail lacks a change that was made with a worker down',
  );
}

export async function killWorker(cluster: FaultyCluster): Promise<Row> {
  return withScene(
    cluster,
    'kill -9 of a worker, started again after 5 s',
    async ({ url, replicas, workload, others, row }) => {
      const [worker = ''] = await cluster.workers(url);
      const { port } = new URL(worker);
      const away = await tenantsAt(url, port, TENANTS);
      const alsoAway = await tenantsAt(url, port, OTHERS);
      const undisturbed = workloadOn(
        replicas,
        OTHERS.filter((tenant) => !alsoAway.includes(tenant)),
      );
      undisturbed.start();
      await undisturbed.acknowledge(50);
      await cluster.kill(1);
      const before = undisturbed.acknowledged;
      try {
        const [tenant = ''] = OTHERS.filter((each) => !alsoAway.includes(each));
        await administer(url, tenant, row);
        await delay(5000);
        row.notes.push(
          `${away.length} of ${TENANTS.length} tenants were on it; writes of the others meanwhile: ${undisturbed.acknowledged - before}`,
        );
      } finally {
        await cluster.restart(1);
      }
      await timeToAcknowledge(workload, row);
      await undisturbed.stop();
      others.push(undisturbed);
      row.expect(undisturbed.acknowledged > before, 'the other tenants were disturbed');
      const failed = [...undisturbed.statuses].filter(([status]) => status !== '200');
      row.expect(
        failed.length === 0,
        `requests of other tenants ended with ${failed.map(([status]) => status).join(', ')}`,
      );
      row.expect([...workload.statuses.keys()].includes('503'), 'no request was rejected');
    },
  );
}

/** Clients on the frozen worker (most clients), and clients on the other nodes. */
const FROZEN_CLIENTS = 49;
const HEALTHY_CLIENTS = 18;
const FREEZE_MS = 30_000;
/**
 * Limit for requests from healthy tenants. It is far below the time after which statements on the frozen worker end.
 */
const HEALTHY_MS = 5000;

export async function freezeWorker(cluster: FaultyCluster): Promise<Row> {
  return withScene(
    cluster,
    'a worker with most clients frozen for 30 s',
    async ({ url, replicas, workload, others, row }) => {
      const [worker = ''] = await cluster.workers(url);
      const names = Array.from({ length: 200 }, (_, i) => `many-${i}`);
      const away = new Set(await tenantsAt(url, new URL(worker).port, names));
      const frozen = workloadOn(replicas, [...away].slice(0, FROZEN_CLIENTS));
      const healthy = workloadOn(replicas, names.filter((name) => !away.has(name)).slice(0, HEALTHY_CLIENTS));
      await workload.stop();
      for (const each of [frozen, healthy]) {
        each.start();
        await each.acknowledge(200);
      }
      await cluster.pause(1);
      const before = healthy.acknowledged;
      healthy.longestMs = 0;
      try {
        await delay(FREEZE_MS);
        row.notes.push(
          `${HEALTHY_CLIENTS} clients on healthy nodes meanwhile: ${healthy.acknowledged - before} writes, longest ${Math.round(healthy.longestMs)} ms, ${statusCounts(healthy)}`,
          `${FROZEN_CLIENTS} clients on the frozen worker: ${statusCounts(frozen)}`,
        );
      } finally {
        await cluster.unpause(1);
      }
      await timeToAcknowledge(frozen, row);
      row.expect(
        healthy.longestMs < HEALTHY_MS,
        `a request of a healthy tenant took ${healthy.longestMs} ms`,
      );
      row.expect(
        [...healthy.statuses.keys()].every((status) => status === '200'),
        `requests of healthy tenants ended with ${statusCounts(healthy)}`,
      );
      for (const each of [frozen, healthy]) await each.stop();
      others.push(frozen, healthy);
      workload.start();
    },
  );
}

function statusCounts({ statuses }: Workload): string {
  return [...statuses].map(([status, { count }]) => `${count} × ${status}`).join(', ');
}

export const restartCoordinator = (cluster: FaultyCluster) =>
  withScene(cluster, 'kill -9 of the coordinator, started again after 2 s', async ({ workload, row }) => {
    await cluster.kill(0);
    await delay(2000);
    await cluster.restart(0);
    await timeToAcknowledge(workload, row);
  });

export const anyNode = (cluster: FaultyCluster) =>
  withScene(
    cluster,
    'reads and writes through every node; the coordinator killed for 2 s',
    async ({ workload, others, row, replicas }) => {
      await workload.acknowledge(300);
      const through = workloadOn(replicas.slice(1), OTHERS);
      through.start();
      await through.acknowledge(50);
      await cluster.kill(0);
      await delay(2000);
      await cluster.restart(0);
      await through.stop();
      others.push(through);
      const failed = [...through.statuses].filter(([status]) => status !== '200');
      row.expect(
        failed.length === 0,
        `requests through workers ended with ${failed.map(([status]) => status).join(', ')}`,
      );
      row.notes.push(`through workers: ${through.acknowledged} writes, no error`);
    },
    { nodes: async (url) => [url, ...(await cluster.workers(url))] },
  );
