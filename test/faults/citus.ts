/**
 * `npm run test:faults:citus`: what an operator does with a Citus cluster, and what happens to it, while the service writes. Prints a table
 * and exits with 1 if a write was lost or doubled, or anything else was wrong. ONLY selects operations by name, separated by commas.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { FaultyCluster } from '../support/faults/cluster.ts';
import { operations } from './citus-operations.ts';
import { Row, table } from './report.ts';

const only = process.env.ONLY?.split(',');
const scratch = await mkdtemp(join(tmpdir(), 'memory-service-citus-'));
const rows: Row[] = [];
let cluster: FaultyCluster | undefined;
try {
  cluster = await FaultyCluster.start(join('/dev/shm', basename(scratch)), { CITUS_SHARDS: '16' });
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
