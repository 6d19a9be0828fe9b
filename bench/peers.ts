/**
 * `npm run bench -- peers`: compares the service with its alternatives in one run on one machine. Prints a Markdown
 * table, or all results with --json. Writes both and a chart to bench/results, which git ignores. bench/RESULTS.md has
 * the latest published run.
 *
 * The contestants D, F, G, H, and M are alternatives for users. D, G, H, and M are filled through their own interfaces,
 * which is slow, so compare with them at `TENANTS=50 CONTESTANTS=S,A,F,H,D,M,G`. M needs Python, otherwise it is left out.
 *
 * `FSYNC_MS=2 NET_MS=0.5` adds cloud delays: each fsync and fdatasync by Postgres and by the contestants returns
 * FSYNC_MS milliseconds later, and each round trip to Postgres takes NET_MS milliseconds longer. FSYNC_MS needs Linux
 * and a C compiler, otherwise it is ignored. The proxy for NET_MS takes about 50 µs of processor time per round trip.
 *
 * FSYNC_MS and CONNECTIONS may be comma-separated lists. Then the run measures every combination, and prints one table
 * with a line for each combination.
 *
 * Environment: ROUNDS, SECONDS, WARM_UP (seconds), TENANTS. ONLY and CONTESTANTS are comma-separated lists that select
 * workloads and contestants. LEAN=0 skips start-up, memory, and sizes, and so does a delay. TEST_DATABASE_URL and
 * TEST_POSTGRES as for the tests, but with FSYNC_MS, TEST_POSTGRES is `embedded` by default.
 */
import { mkdir, writeFile } from 'node:fs/promises';
import { cpus, totalmem } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { progress, setting, settings, withCleanup } from './support/cleanup.ts';
import {
  type Contestant,
  installPeers,
  LOAD_SETTINGS,
  prepare,
  prepareDirectories,
  startContestants,
  syncedDirectory,
} from './support/contestants.ts';
import { describeDelays, prepareSlowDisk, startSlowNetwork } from './support/delays.ts';
import { type Job, type Measured, Worker } from './support/job.ts';
import { describeKeptEdits } from './support/kept-edits.ts';
import { countDependencies, imageBytes, type Lean, measureInstall, measureStart } from './support/lean.ts';
import { startPostgres } from './support/postgres.ts';
import { root, watchSteal } from './support/process.ts';
import { renderChart, renderGrid, renderMarkdown } from './support/report.ts';
import { type Cell, evaluateTargets, type Results, type Round, summarizeRounds } from './support/results.ts';
import { workloads } from './support/workloads.ts';

const ROUNDS = setting('ROUNDS', 3);
const SECONDS = setting('SECONDS', 3);
const WARM_UP = setting('WARM_UP', 1);
const CONNECTIONS = settings('CONNECTIONS', 32);
const TENANTS = setting('TENANTS', 1000);
const list = (name: string, all: readonly string[]) => process.env[name]?.split(',') ?? all;
const only = list('ONLY', workloads);
const chosen = list('CONTESTANTS', ['S', 'I', 'N', 'P', 'A', 'B', 'C1', 'C2']);
const FSYNC_MS = settings('FSYNC_MS', 0, { isDecimal: true });
const NET_MS = setting('NET_MS', 0, { isDecimal: true });
const isLean = setting('LEAN', 1) === 1 && FSYNC_MS.every((each) => each === 0) && NET_MS === 0;
/**
 * Maximum share of time that the hypervisor may give to other machines during a turn. A turn above it is repeated, up to
 * `MAX_ATTEMPTS` times, because on some machines the share is always higher.
 */
const MAX_STEAL = 0.05;
const MAX_ATTEMPTS = 4;

await withCleanup(async (scratch, later) => {
  progress('starting Postgres');
  const disk = prepareSlowDisk(scratch, FSYNC_MS);
  const server = await startPostgres(scratch, disk.variables);
  later(() => server.stop());
  progress(server.description);
  const postgres = await server.createDatabase();
  const databaseUrl = await startSlowNetwork(postgres.url, NET_MS, later);

  progress(`creating ${TENANTS} tenants, three times`);
  const fixtures = {
    scratch,
    databaseUrl,
    variables: disk.variables,
    pgliteDirectory: join(scratch, 'pglite'),
    filesDirectory: join(scratch, 'files'),
    tenants: TENANTS,
  };
  const peers = installPeers(chosen);
  await prepare({ DATABASE_URL: postgres.url }, TENANTS);
  if (chosen.includes('P')) await prepare({ DATA_DIR: fixtures.pgliteDirectory }, TENANTS);
  if (chosen.includes('A')) await prepareDirectories(fixtures.filesDirectory, TENANTS);
  if (chosen.includes('F')) await prepareDirectories(syncedDirectory(fixtures.filesDirectory), TENANTS);

  const lean = isLean ? await measureLean(scratch, postgres.url) : undefined;
  progress('starting the contestants');
  const contestants = await startContestants(fixtures, peers, later);
  const service = contestants.find(({ id }) => id === 'S')?.server;
  if (lean && service) {
    await delay(2000);
    lean.idleBytes = service.memory();
  }
  const run = {
    date: new Date().toISOString().slice(0, 16).replace('T', ' '),
    machine: `${cpus().length} × ${cpus()[0]?.model ?? 'unknown'}, ${Math.round(totalmem() / 2 ** 30)} GiB, ${process.platform}, Node ${process.version}`,
    postgres: server.description,
    contestants: await describeContestants(contestants),
    lean,
  };
  const measure = startLoad(later);
  await warmUp(contestants, measure);
  const results: Results[] = [];
  for (const connections of CONNECTIONS) {
    for (const milliseconds of disk.delays) {
      disk.delayBy(0);
      await postgres.query('CHECKPOINT');
      disk.delayBy(milliseconds);
      const applied = { FSYNC_MS: milliseconds, NET_MS };
      const delays = await describeDelays(databaseUrl, applied);
      progress(`${connections} connections. ${delays}`);
      const cells = await measureAll(contestants, connections, measure, () => {
        if (lean && service) lean.mixBytes = Math.max(lean.mixBytes ?? 0, service.memory());
      });
      const settings = { ROUNDS, SECONDS, WARM_UP, CONNECTIONS: connections, TENANTS, ...applied };
      results.push({
        ...run,
        delays,
        settings: { ...settings, MAX_STEAL, MAX_ATTEMPTS, ...LOAD_SETTINGS },
        cells,
        targets: evaluateTargets(cells),
      });
    }
  }
  await write(results);
});

async function describeContestants(contestants: readonly Contestant[]): Promise<Results['contestants']> {
  const described: Results['contestants'] = [];
  for (const contestant of contestants) {
    const { id, name } = contestant;
    const edits = id !== 'C2' && contestant.workloads.includes('str_replace');
    described.push({ id, name, ...(edits && { keptEdits: await describeKeptEdits(contestant) }) });
  }
  return described;
}

async function measureLean(scratch: string, databaseUrl: string): Promise<Lean> {
  progress('measuring start-up and sizes');
  const directory = join(scratch, 'pglite-start');
  await prepare({ DATA_DIR: directory }, 0);
  return {
    startOnPostgresMs: await measureStart(scratch, { DATABASE_URL: databaseUrl }),
    startOnPgliteMs: await measureStart(scratch, { DATA_DIR: directory }),
    idleBytes: undefined,
    mixBytes: undefined,
    ...countDependencies(),
    installedBytes: measureInstall(scratch),
    imageBytes: imageBytes(),
  };
}

/** Puts load on a contestant. */
type Measure = (
  contestant: Contestant,
  turn: Pick<Job, 'workload' | 'connections' | 'warmUpSeconds' | 'seconds'>,
) => Promise<Measured>;

function startLoad(addCleanup: (undo: () => void) => void): Measure {
  const http = new Worker('load.ts');
  const driver = new Worker('driver.ts');
  addCleanup(() => {
    http.stop();
    driver.stop();
  });
  let turns = 0;
  return ({ id, url, headers, keyed }, turn) => {
    const run = `${turn.workload}-${id}-${turns++}`;
    return (id === 'C2' ? driver : http).measure({ ...turn, url, headers, keyed, tenants: TENANTS, run });
  };
}

async function warmUp(contestants: readonly Contestant[], measure: Measure): Promise<void> {
  progress('warming up');
  const [connections = 0] = CONNECTIONS;
  for (const each of contestants) {
    const workload = each.workloads.at(-1) ?? 'view';
    await measure(each, { workload, connections, warmUpSeconds: 0, seconds: WARM_UP * 3 });
  }
}

/**
 * Measures all contestants, one at a time. Rounds begin with different contestants and alternate direction, so that no
 * contestant always runs after the same one.
 */
async function measureAll(
  contestants: readonly Contestant[],
  connections: number,
  measure: Measure,
  onMix: () => void,
): Promise<Cell[]> {
  const load = { connections, warmUpSeconds: WARM_UP, seconds: SECONDS };
  /** Measures until a turn is undisturbed or the attempts are used up. A turn with failures always counts. */
  const takeTurn = async (contestant: Contestant, workload: Job['workload']): Promise<Round> => {
    for (let attempt = 1; ; attempt++) {
      const used = contestant.server?.processorTime() ?? Number.NaN;
      const steal = watchSteal();
      const measured = await measure(contestant, { workload, ...load });
      const processor = ((contestant.server?.processorTime() ?? Number.NaN) - used) / measured.all;
      if (steal() <= MAX_STEAL || attempt === MAX_ATTEMPTS || measured.failures > 0)
        return { ...measured, processor, attempts: attempt };
    }
  };
  const cells: Cell[] = [];
  for (const workload of workloads.filter((each) => only.includes(each))) {
    const taking = contestants.filter((each) => each.workloads.includes(workload));
    const rounds = new Map<Contestant, Round[]>(taking.map((each) => [each, []]));
    for (let round = 0; round < ROUNDS; round++) {
      for (let turn = 0; turn < taking.length; turn++) {
        const place = round + (round % 2 === 0 ? turn : -turn);
        const contestant = taking.at(place % taking.length) as Contestant;
        const { id } = contestant;
        const watch = id === 'S' && workload === 'mix' ? setInterval(onMix, 200) : undefined;
        const measured = await takeTurn(contestant, workload).finally(() => clearInterval(watch));
        rounds.get(contestant)?.push(measured);
        const { rate, p50, p99, processor, failures, attempts } = measured;
        progress(
          `${workload} ${round + 1}/${ROUNDS} ${id.padEnd(2)} ${rate.toFixed(0).padStart(6)}/s, p50 ${p50.toFixed(2)}, p99 ${p99.toFixed(2)} ms, ${processor.toFixed(0)} µs, attempt ${attempts}${failures ? `, ${failures} FAILURES` : ''}`,
        );
      }
    }
    for (const [{ id }, measured] of rounds) cells.push(summarizeRounds(workload, id, measured));
  }
  return cells;
}

async function write(results: readonly Results[]): Promise<void> {
  const directory = join(root, 'bench', 'results');
  await mkdir(directory, { recursive: true });
  const [first, ...others] = results;
  if (first === undefined) return;
  const isGrid = others.length > 0;
  const json = `${JSON.stringify(isGrid ? results : first, null, 2)}\n`;
  const tables = isGrid ? renderGrid(results) : renderMarkdown(first);
  await writeFile(join(directory, 'bench.json'), json);
  await writeFile(
    join(directory, 'bench.md'),
    isGrid ? tables : `${tables}\n![Requests a second](bench.svg)\n`,
  );
  if (!isGrid) await writeFile(join(directory, 'bench.svg'), renderChart(first));
  process.stdout.write(process.argv.includes('--json') ? json : tables);
  // Results with failures are not valid.
  if (results.some(({ cells }) => cells.some(({ failures }) => failures > 0))) process.exitCode = 1;
}
