/** Moves an existing database to a cluster with the steps in docs/scaling.md. */
import type { FaultyCluster } from '../support/faults/faulty-cluster.ts';
import { FILL } from '../support/fill.ts';
import { query } from '../support/postgres/database-cluster.ts';
import { migrate, noteDuration, readContents, withScene } from './citus-scene.ts';
import { timeToAcknowledge } from './environment.ts';

const MOVED_TENANTS = Number(process.env.MOVED_TENANTS ?? 50);
const FILES_OF_EACH = 200;

export const moveToCluster = (cluster: FaultyCluster) =>
  withScene(
    cluster,
    'plain database moved to the cluster',
    async ({ url, workload, row, replicas: [replica] }) => {
      await cluster.createDatabase(new URL(url).pathname.slice(1));
      await workload.stop();
      const before = await readContents(url);
      const [size] = await query(url, 'SELECT pg_size_pretty(pg_database_size(current_database())) AS text');
      row.notes.push(`${MOVED_TENANTS} tenants with ${FILES_OF_EACH} files, ${size?.text}`);
      await replica?.end();
      await noteDuration(row, 'migrate', () => migrate(url));
      const after = await readContents(url);
      row.expect(JSON.stringify(after) === JSON.stringify(before), 'the rows are not those of before');
      const started = performance.now();
      await replica?.start();
      workload.start();
      await timeToAcknowledge(workload, row, started);
    },
    { create: (name) => createFilled(cluster, name) },
  );

async function createFilled(cluster: FaultyCluster, name: string): Promise<string> {
  const url = await cluster.createPlainDatabase(name);
  await migrate(url);
  for (let tenant = 0; tenant < MOVED_TENANTS; tenant++)
    for (const fill of FILL) await query(url, fill, [`moved-${tenant}`, FILES_OF_EACH]);
  await query(url, 'VACUUM ANALYZE');
  return url;
}
