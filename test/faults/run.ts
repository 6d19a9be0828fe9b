/**
 * `npm run test:faults`: faults by the hundred, in real processes. Prints a table, and ends with 1 when anything was lost,
 * doubled or otherwise wrong.
 *
 * The environment says how often each fault comes: KILLS (200), PGLITE_KILLS (half of them), POSTGRES_KILLS (20),
 * TERMINATIONS (50), FREEZES (5), STOPS (10), FAILOVERS (5), CROWDS (5), FULL_DISKS (5), CONFLICTS (100), RESTARTS (20),
 * STARTS (5), IDLE_CONNECTIONS (10000). ONLY has the names of the faults to try, as in `faults` below, with commas.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { installBinaries, PostgresServer } from '../support/faults/postgres.ts';
import { idleConnections } from './clients.ts';
import {
  deadlocks,
  failover,
  freeze,
  fullDataDisk,
  fullLogDisk,
  refuseConnections,
  serializationFailures,
  terminateBackends,
  tooManyConnections,
} from './database.ts';
import type { Ground } from './ground.ts';
import {
  killAllOfPostgres,
  killBackend,
  killPostmaster,
  killServiceOnPglite,
  killServiceOnPostgres,
} from './kills.ts';
import { rollingRestarts, startsAtOnce } from './replicas.ts';
import { Row, table } from './report.ts';

const faults: Record<string, (ground: Ground) => Promise<Row>> = {
  killServiceOnPostgres,
  killServiceOnPglite,
  killPostmaster,
  killAllOfPostgres,
  killBackend,
  terminateBackends,
  freeze,
  refuseConnections,
  failover,
  tooManyConnections,
  fullDataDisk,
  fullLogDisk,
  deadlocks,
  serializationFailures,
  rollingRestarts,
  startsAtOnce,
  idleConnections,
};

const only = process.env.ONLY?.split(',');
const unknown = only?.find((name) => !Object.hasOwn(faults, name));
if (unknown !== undefined)
  throw new Error(`ONLY: there is no ${unknown}, but ${Object.keys(faults).join(', ')}`);

const scratch = await mkdtemp(join(tmpdir(), 'memory-service-faults-'));
const rows: Row[] = [];
let postgres: PostgresServer | undefined;
try {
  const binaries = await installBinaries(scratch);
  postgres = await PostgresServer.create({ binaries, folder: join(scratch, 'postgres') });
  const ground: Ground = {
    scratch,
    binaries,
    postgres,
    option: (name, otherwise) => Number(process.env[name] ?? otherwise),
  };
  for (const [name, fault] of Object.entries(faults)) {
    if (only && !only.includes(name)) continue;
    const started = performance.now();
    const row = await fault(ground).catch((error) => {
      const failed = new Row(name);
      failed.wrong.push(String(error?.stack ?? error));
      return failed;
    });
    rows.push(row);
    const seconds = Math.round((performance.now() - started) / 1000);
    console.log(`${row.failed ? 'FAILED' : 'ok'} ${name} (${seconds} s) ${row}`);
    for (const what of new Set([...row.lost, ...row.doubled, ...row.wrong].slice(0, 10)))
      console.log(`  ${what}`);
  }
} finally {
  await postgres?.stop('immediate');
  await rm(scratch, { recursive: true, force: true });
}
console.log(`\n${table(rows)}`);
process.exit(rows.some((row) => row.failed) ? 1 : 0);
