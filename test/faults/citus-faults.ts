/**
 * `npm run test:faults:citus`: operations on a Citus cluster and its failures while the service writes. Prints a table
 * and exits with 1 if a write was lost or doubled, or if another check failed. ONLY selects operations by name,
 * separated by commas. MOVED_TENANTS (50) is the size of the database that is moved to the cluster.
 * `scripts/citus-cluster` starts the cluster in Docker.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { FaultyCluster, NoCluster } from '../support/faults/faulty-cluster.ts';
import { dumpAndRestore, twoVersions } from './citus-data.ts';
import { moveToCluster } from './citus-move.ts';
import {
  addWorker,
  anyNode,
  freezeWorker,
  isolateTenant,
  killWorker,
  restartCoordinator,
} from './citus-nodes.ts';
import { Row, table } from './fault-report.ts';

const operations = {
  addWorker,
  isolateTenant,
  killWorker,
  freezeWorker,
  restartCoordinator,
  anyNode,
  dumpAndRestore,
  twoVersions,
  moveToCluster,
};

const only = process.env.ONLY?.split(',');
const scratch = await mkdtemp(join(tmpdir(), 'memory-service-citus-'));
const rows: Row[] = [];
let cluster: FaultyCluster | undefined;
try {
  cluster = await FaultyCluster.start({ CITUS_SHARDS: '16' });
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
} catch (error) {
  if (!(error instanceof NoCluster)) throw error;
  console.error(error.message);
} finally {
  await cluster?.remove();
  await rm(scratch, { recursive: true, force: true });
}
if (rows.length > 0) console.log(`\n${table(rows)}`);
process.exit(rows.length === 0 || rows.some((row) => row.failed) ? 1 : 0);
