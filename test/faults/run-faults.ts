/**
 * `npm run test:faults`: injects hundreds of failures into real processes. Prints a table and exits with 1 if a write
 * was lost or doubled, or if another check failed.
 *
 * Environment variables set how often each failure is injected. Their defaults: KILLS (200), PGLITE_KILLS (half of
 * KILLS), POSTGRES_KILLS (20), TERMINATIONS (50), FREEZES (5), STOPS (10), FAILOVERS (5), CROWDS (5), FULL_DISKS (5),
 * CONFLICTS (100), RESTARTS (20), STARTS (5), IDLE_CONNECTIONS (10000), BACKUPS (1). `changes/changes.ts` lists those
 * for `changes`. ONLY selects cases by their names in `faults` below, separated by commas, and `attacks` selects all cases in `attacks/index.ts`. SHORT=true runs the
 * cases in a short form, in which a slow case is only noted. PG_BIN is the directory that contains PostgreSQL's client
 * tools, and optionally its server, for the backups.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PostgresServer } from '../support/faults/postgres-server.ts';
import { installBinaries } from '../support/postgres/binaries.ts';
import { attackCases } from './attacks/index.ts';
import {
  backupByDump,
  backupOfPglite,
  backupToAPointInTime,
  backupToAPointInTimeAfterACrash,
} from './backup.ts';
import { changes } from './changes/changes.ts';
import { idleConnections } from './clients.ts';
import {
  deadlocks,
  failover,
  freeze,
  fullDataDisk,
  fullLogDisk,
  rejectConnections,
  serializationFailures,
  terminateBackends,
  tooManyConnections,
} from './database-faults.ts';
import type { Environment } from './environment.ts';
import { Row, table } from './fault-report.ts';
import {
  killAllOfPostgres,
  killBackend,
  killPostmaster,
  killServiceOnPglite,
  killServiceOnPostgres,
} from './kills.ts';
import { rollingRestarts, startsAtOnce } from './replicas.ts';

type Fault = (environment: Environment) => Promise<Row>;

const faults: Record<string, Fault | Fault[]> = {
  killServiceOnPostgres,
  killServiceOnPglite,
  killPostmaster,
  killAllOfPostgres,
  killBackend,
  terminateBackends,
  freeze,
  rejectConnections,
  failover,
  tooManyConnections,
  fullDataDisk,
  fullLogDisk,
  deadlocks,
  serializationFailures,
  rollingRestarts,
  startsAtOnce,
  changes,
  idleConnections,
  ...attackCases,
  backup: [backupByDump, backupToAPointInTime, backupToAPointInTimeAfterACrash, backupOfPglite],
};

const only = process.env.ONLY?.split(',').flatMap((name) =>
  name === 'attacks' ? Object.keys(attackCases) : name,
);
const unknown = only?.find((name) => !Object.hasOwn(faults, name));
if (unknown !== undefined)
  throw new Error(`ONLY: unknown fault ${unknown}. The faults are ${Object.keys(faults).join(', ')}`);

const scratch = await mkdtemp(join(tmpdir(), 'memory-service-faults-'));
const rows: Row[] = [];
let postgres: PostgresServer | undefined;
try {
  const binaries = await installBinaries(scratch);
  postgres = await PostgresServer.create({ binaries, directory: join(scratch, 'postgres') });
  const environment: Environment = {
    scratch,
    binaries,
    postgres,
    option: (name, defaultValue, short = defaultValue) =>
      Number(process.env[name] ?? (process.env.SHORT === 'true' ? short : defaultValue)),
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
