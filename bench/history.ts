/**
 * `npm run bench -- history`: measures the history's cost. Compares the default service with HISTORY_DAYS=0, in
 * alternating processes on two databases. Also measures restoring many files and renaming a directory. Prints Markdown.
 *
 * Environment: ROUNDS (processes per side, 3), SECONDS, WARM_UP (seconds), CONNECTIONS, TENANTS; RESTORED (files,
 * 10000), RENAMED (files, 20000); TEST_DATABASE_URL and TEST_POSTGRES as for the tests.
 */
import { progress, setting, withCleanup } from './support/cleanup.ts';
import { LOAD_SETTINGS, prepare } from './support/contestants.ts';
import { measureEdits, measureTimes } from './support/history-times.ts';
import { Worker } from './support/job.ts';
import { type BenchDatabase, type BenchServer, startPostgres } from './support/postgres.ts';
import { databaseProcessorTime, SERVICE, startServer } from './support/process.ts';
import { median } from './support/statistics.ts';
import { describeWorkload } from './support/workloads.ts';

const ROUNDS = setting('ROUNDS', 3);
const SECONDS = setting('SECONDS', 3);
const WARM_UP = setting('WARM_UP', 1);
const CONNECTIONS = setting('CONNECTIONS', 32);
const TENANTS = setting('TENANTS', 1000);
const RESTORED = setting('RESTORED', 10_000);
const RENAMED = setting('RENAMED', 20_000);

/** Minimum throughput with history, as a share of the throughput without. */
const TARGETS = { create: 0.97, str_replace: 0.93, mix: 0.93 } as const;
const chosen = Object.keys(TARGETS) as (keyof typeof TARGETS)[];
const WRITES_IN_MIX = 8 / 20;
const WRITES_A_SECOND = 100;
const DAY_SECONDS = 24 * 60 * 60;

interface Side {
  name: 'with' | 'without';
  env: Record<string, string>;
  database: BenchDatabase;
}

interface Turn {
  of: keyof typeof TARGETS;
  side: Side['name'];
  rate: number;
  micros: number;
  failures: number;
  /** History bytes per call. */
  bytes: number;
}

await withCleanup(async (scratch, later) => {
  const server = await startPostgres(scratch);
  later(() => server.stop());
  progress(server.description);
  const sides: Side[] = [
    { name: 'with', env: {}, database: await createFilledDatabase(server) },
    { name: 'without', env: { HISTORY_DAYS: '0' }, database: await createFilledDatabase(server) },
  ];
  const load = new Worker('load.ts');
  later(() => load.stop());
  const turns: Turn[] = [];
  for (let round = 0; round < ROUNDS; round++) {
    for (const side of round % 2 === 0 ? sides : sides.toReversed()) {
      turns.push(...(await takeTurns(side, round, scratch, load)));
    }
  }
  console.log(
    `${server.description}. ROUNDS=${ROUNDS}, SECONDS=${SECONDS}, CONNECTIONS=${CONNECTIONS}, TENANTS=${TENANTS}.\n`,
  );
  printTurns(turns);
  const mix = turns.filter(({ of, side }) => of === 'mix' && side === 'with');
  const day = (median(mix.map(({ bytes }) => bytes)) / WRITES_IN_MIX) * WRITES_A_SECOND * DAY_SECONDS;
  console.log(
    `\nHistory of a day of the mix at ${WRITES_A_SECOND} writes/s: ${(day / 2 ** 30).toFixed(1)} GiB before it is pruned.`,
  );
  const edits = await measureEdits(await server.createDatabase());
  console.log(
    `History of an edit of 40 bytes in a 10 KB file, over 10,000 edits: ${edits.bytes.toFixed(0)} bytes on disk.`,
  );
  console.log(`The oldest of 10,000 versions of a 10 KB file: read in ${edits.readMs.toFixed(1)} ms.`);
  const { url } = (sides[0] as Side).database;
  const times = await measureTimes(url, { restored: RESTORED, renamed: RENAMED });
  console.log(`Restore of ${RESTORED} deleted files: ${times.restoreOfDeleted.toFixed(0)} ms.`);
  console.log(`Restore of ${RESTORED} moved files: ${times.restoreOfMoved.toFixed(0)} ms.`);
  console.log(`Rename of a directory of ${RENAMED} files: ${times.rename.toFixed(0)} ms.`);
});

async function createFilledDatabase(server: BenchServer): Promise<BenchDatabase> {
  const database = await server.createDatabase();
  await prepare({ DATABASE_URL: database.url }, TENANTS);
  await database.query('CHECKPOINT');
  return database;
}

async function takeTurns(side: Side, round: number, scratch: string, load: Worker): Promise<Turn[]> {
  const service = await startServer(SERVICE, {
    env: { ...LOAD_SETTINGS, DATABASE_URL: side.database.url, AUTH: 'none', ...side.env },
    scratch,
    name: `${side.name}-${round}`,
    ready: '/readyz',
  });
  const name = new URL(side.database.url).pathname.slice(1);
  const usedTime = () => service.processorTime() + databaseProcessorTime(name);
  const turns: Turn[] = [];
  for (const of of chosen) {
    const [usedBefore, bytesBefore] = [usedTime(), await historyBytes(side.database)];
    const { rate, all, failures } = await load.measure({
      workload: of,
      tenants: TENANTS,
      url: service.url,
      headers: {},
      keyed: false,
      connections: CONNECTIONS,
      warmUpSeconds: WARM_UP,
      seconds: SECONDS,
      run: `${of}-${side.name}-${round}-${Date.now()}`,
    });
    const bytes = ((await historyBytes(side.database)) - bytesBefore) / all;
    turns.push({ of, side: side.name, rate, failures, bytes, micros: (usedTime() - usedBefore) / all });
    progress(`${round + 1}/${ROUNDS} ${of} ${side.name}: ${rate.toFixed(0)}/s, ${failures} failures`);
  }
  await service.stop();
  return turns;
}

async function historyBytes({ query }: BenchDatabase): Promise<number> {
  return Number((await query('SELECT sum(history_bytes) AS bytes FROM tenants'))[0]?.bytes);
}

function printTurns(turns: readonly Turn[]): void {
  console.log(
    '| | with history, requests/s | HISTORY_DAYS=0 | with ÷ without | target | CPU µs with | without | bytes of history a request | failures |',
  );
  console.log('|---|--:|--:|--:|--:|--:|--:|--:|--:|');
  for (const of of chosen) {
    const [own, other] = (['with', 'without'] as const).map((side) =>
      turns.filter((turn) => turn.of === of && turn.side === side),
    ) as [Turn[], Turn[]];
    const medianOfTurns = (from: Turn[], key: 'rate' | 'micros' | 'bytes') =>
      median(from.map((turn) => turn[key]));
    const ratio = median(own.map(({ rate }, i) => rate / (other[i]?.rate ?? Number.NaN)));
    const failures = [...own, ...other].reduce((sum, turn) => sum + turn.failures, 0);
    const cells = [
      describeWorkload[of],
      medianOfTurns(own, 'rate').toFixed(0),
      medianOfTurns(other, 'rate').toFixed(0),
      ratio.toFixed(2),
      `≥ ${TARGETS[of]}`,
      medianOfTurns(own, 'micros').toFixed(0),
      medianOfTurns(other, 'micros').toFixed(0),
      medianOfTurns(own, 'bytes').toFixed(0),
      failures,
    ];
    console.log(`| ${cells.join(' | ')} |`);
    // Results with failures are not valid.
    if (failures > 0) process.exitCode = 1;
  }
}
