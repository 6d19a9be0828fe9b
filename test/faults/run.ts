/**
 * `npm run test:faults`: faults by the hundred, in real processes. Prints a table, and ends with 1 when anything was lost,
 * doubled or otherwise wrong.
 *
 * The environment says how often each fault comes: KILLS (200), PGLITE_KILLS (half of them), POSTGRES_KILLS (20),
 * TERMINATIONS (50), FREEZES (5), STOPS (10), FAILOVERS (5), CROWDS (5), FULL_DISKS (5), CONFLICTS (100), RESTARTS (20),
 * STARTS (5), IDLE_CONNECTIONS (10000), BACKUPS (1). ONLY has the names of the faults to try, as in `faults` below, with
 * commas. PG_BIN is the folder with PostgreSQL's own tools (and its server, if that is there too), for the backups.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PostgresServer } from '../support/faults/postgres.ts';
import { installBinaries } from '../support/postgres/binaries.ts';
import {
  backupByDump,
  backupOfPglite,
  backupToAPointInTime,
  backupToAPointInTimeAfterACrash,
} from './backup.ts';
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
import type { Environment } from './environment.ts';
import {
  killAllOfPostgres,
  killBackend,
  killPostmaster,
  killServiceOnPglite,
  killServiceOnPostgres,
} from './kills.ts';
import { rollingRestarts, startsAtOnce } from './replicas.ts';
import { Row, table } from './report.ts';

type Fault = (environment: Environment) => Promise<Row>;

const faults: Record<string, Fault | Fault[]> = {
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
  backup: [backupByDump, backupToAPointInTime, backupToAPointInTimeAfterACrash, backupOfPglite],
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
  const environment: Environment = {
    scratch,
    binaries,
    postgres,
    option: (name, otherwise) => Number(process.env[name] ?? otherwise),
  };
  const chosen = Object.entries(faults)
    .filter(([name]) => !only || only.includes(name))
    .flatMap(([name, parts]) => [parts].flat().map((fault) => ({ name, fault })));
  for (const { name, fault } of chosen) {
    const started = performance.now();
    const row = await fault(environment).catch((error) => {
      const failed = new Row(name);
      failed.wrong.push(String(error?.stack ?? error));
      return failed;
    });
    rows.push(row);
    const seconds = Math.round((performance.now() - started) / 1000);
    console.log(`${row.failed ? 'FAILED' : row.skipped ? 'skipped' : 'ok'} ${name} (${seconds} s) ${row}`);
    for (const what of new Set([...row.lost, ...row.doubled, ...row.wrong].slice(0, 10)))
      console.log(`  ${what}`);
  }
} finally {
  await postgres?.stop('immediate');
  await rm(scratch, { recursive: true, force: true });
}
console.log(`\n${table(rows)}`);
process.exit(rows.some((row) => row.failed) ? 1 : 0);
