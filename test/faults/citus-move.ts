/** The move of a plain database with data to a cluster, with the steps of docs/scaling.md. */
import type { FaultyCluster } from '../support/faults/cluster.ts';
import { query } from '../support/postgres/cluster.ts';
import { contentsOf, during, migrate, timed } from './citus-scene.ts';
import { timeToAcknowledge } from './environment.ts';

const MOVED_TENANTS = Number(process.env.MOVED_TENANTS ?? 50);
const FILES_OF_EACH = 200;

export const moveToCluster = (cluster: FaultyCluster) =>
  during(
    cluster,
    'plain database moved to the cluster',
    async ({ url, workload, row, replicas: [replica] }) => {
      await cluster.createDatabase(new URL(url).pathname.slice(1));
      await workload.stop();
      const before = await contentsOf(url);
      const [size] = await query(url, 'SELECT pg_size_pretty(pg_database_size(current_database())) AS text');
      row.notes.push(`${MOVED_TENANTS} tenants with ${FILES_OF_EACH} files, ${size?.text}`);
      await replica?.end();
      await timed(row, 'migrate', () => migrate(url));
      const after = await contentsOf(url);
      row.expect(JSON.stringify(after) === JSON.stringify(before), 'the rows are not those of before');
      const started = performance.now();
      await replica?.start();
      workload.start();
      await timeToAcknowledge(workload, row, started);
    },
    { create: (name) => createFilled(cluster, name) },
  );

/** Creates files of 1,700 bytes, which Postgres does not compress, and edits each once. */
const FILL = [
  "memory_create($1, path, repeat(md5(path), 53), md5('1' || path)::uuid, true, 0, 0, '{}', 'c' || n, 'r', 'answer', true)",
  "memory_write($1, path, md5('1' || path)::uuid, 0, 4, 'edit', md5('2' || path)::uuid, 0, 0, 30, '{}', 'w' || n, 'r', 'answer', true)",
];

async function createFilled(cluster: FaultyCluster, name: string): Promise<string> {
  const url = await cluster.createPlainDatabase(name);
  await migrate(url);
  const paths = `(SELECT n, '/memories/d' || n % 10 || '/f' || n AS path FROM generate_series(1, ${FILES_OF_EACH}) AS n) AS f`;
  for (let tenant = 0; tenant < MOVED_TENANTS; tenant++) {
    for (const call of FILL)
      await query(url, `SELECT count(done) FROM ${paths}, ${call} AS done`, [`moved-${tenant}`]);
  }
  await query(url, 'VACUUM ANALYZE');
  return url;
}
