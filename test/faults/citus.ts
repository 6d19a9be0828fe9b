/**
 * `npm run test:faults:citus`: what an operator does with a Citus cluster, and what happens to it, while the service writes. Prints a table
 * and exits with 1 if a write was lost or doubled, or anything else was wrong. ONLY selects operations by name, separated by commas. The cluster
 * is in FOLDER (/dev/shm); MOVED_TENANTS (50) is the size of the database that is moved to it.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { FaultyCluster } from '../support/faults/cluster.ts';
import { dumpAndRestore, twoVersions } from './citus-data.ts';
import { moveToCluster } from './citus-move.ts';
import { addWorker, anyNode, isolateTenant, killWorker, restartCoordinator } from './citus-nodes.ts';
import { Row, table } from './report.ts';

const operations = {
  addWorker,
  isolateTenant,
  killWorker,
  restartCoordinator,
  anyNode,
  dumpAndRestore,
  twoVersions,
  moveToCluster,
};

const only = process.env.ONLY?.split(',');
const scratch = await mkdtemp(join(tmpdir(), 'memory-service-citus-'));
const folder = join(process.env.FOLDER ?? '/dev/shm', `${basename(scratch)}-cluster`);
const rows: Row[] = [];
let cluster: FaultyCluster | undefined;
try {
  cluster = await FaultyCluster.start(folder, { CITUS_SHARDS: '16' });
  for (const [name, operation] of Object.entries(operations)) {
    if (only && !only.includes(name)) continue;
    const row = await operation(cluster, scratch).catch((error) => {
      const failed = new Row(name);
      failed.wrong.push(String(error?.stack ?? error));
      return failed;
    });
    rows.push(row);
    console.log(`${row.failed ? 'FAILED' : 'ok'} ${name} ${row}`);
    for (const what of [...row.lost, ...row.doubled, ...row.wrong].slice(0, 10)) console.log(`  ${what}`);
  }
} finally {
  await cluster?.remove();
  await rm(scratch, { recursive: true, force: true });
}
console.log(`\n${table(rows)}`);
process.exit(rows.some((row) => row.failed) ? 1 : 0);
