/**
 * `npm run bench -- scale`: measures whether a call is as fast with a million files as with a thousand. Also measures
 * moving and deleting directories, the hourly jobs, and operators' lists and searches, with their strongest locks. It
 * calls the store directly, without HTTP: once for each tenant (cold), and three times again (warm). Writes to
 * bench/results, which git ignores: scale.md, scale.json (which --json prints), and the statements' plans in
 * explain.txt and, for a thousand files, explain-small.txt. bench/RESULTS.md has the latest published run.
 *
 * Environment: FILES (1000000), CALLS (400, the number of tenants for each call); TEST_DATABASE_URL and TEST_POSTGRES
 * as for the tests.
 */
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { loadConfig } from '../src/core/config.ts';
import { openDatabase } from '../src/core/database/open-database.ts';
import { Memory } from '../src/core/files/memory.ts';
import { Services } from '../src/core/files/services.ts';
import type { MemoryStore } from '../src/core/memory/memory-store.ts';
import type { MemoryPath } from '../src/core/memory/path.ts';
import { splice } from '../src/core/memory/text-changes.ts';
import { createSecretScanner } from '../src/features/secrets/scanner.ts';
import { progress, setting, withCleanup } from './support/cleanup.ts';
import { prepare } from './support/contestants.ts';
import { text, UNLIMITED } from './support/data.ts';
import { explainAll } from './support/explain.ts';
import { measureStart } from './support/lean.ts';
import { type BenchDatabase, startPostgres } from './support/postgres.ts';
import { root } from './support/process.ts';
import { seedLarge } from './support/scale-data.ts';
import { measureJobs } from './support/scale-jobs.ts';
import { FIXTURES, type Fixture, type Row, scaleMarkdown } from './support/scale-report.ts';
import { median } from './support/statistics.ts';

const FILES = setting('FILES', 1_000_000);
const SMALL_FILES = 1000;
const CALLS = setting('CALLS', 400);
/** Number of further calls at each place. */
const WARM = 3;
const WARM_UP = 20;
const COPIES = 3;
/** Number of files in the directories that are moved and deleted. */
const SIZES = [...new Set([1000, 100, 20].map((share) => Math.min(Math.floor(FILES / share), 50_000)))];

const DONE = { content: 'done', isError: false };
const pick = (n: number) => Math.floor(Math.random() * n);

/** A file to call, in one of a tenant's directories. */
interface Place {
  store(): MemoryStore;
  directory: MemoryPath;
  file: MemoryPath;
}

/** Returns further places, each in another tenant or, in the largest tenant, in another directory. */
type Places = (count: number) => Place[];

let made = 0;
const calls: Record<string, (place: Place) => Promise<unknown>> = {
  'view of a file': ({ store, file }) => store().lookup(file, 1000),
  'view of a directory of 100': ({ store, directory }) => store().lookup(directory, 5000),
  // Files are created in existing directories. A new directory costs more, and the small table would soon contain all
  // of them.
  create: async ({ store, directory }) => {
    const path = `${directory}/new-${made++}.md` as MemoryPath;
    expect((await store().create(path, text(1024), DONE)).kind, 'created');
  },
  edit: async ({ store, file }) => {
    const change = (content: string) => {
      const at = content.indexOf('log:');
      return { ...splice(content, at, 0, '.'), result: DONE };
    };
    expect((await store().edit(file, change)).kind, 'edited');
  },
};

await withCleanup(async (scratch, later) => {
  const server = await startPostgres(scratch);
  later(() => server.stop());
  progress(server.description);
  const [small, large] = [await server.createDatabase(), await server.createDatabase()];
  for (const [database, files, sizes] of [
    [small, SMALL_FILES, []],
    [large, FILES, SIZES],
  ] as const) {
    await prepare({ DATABASE_URL: database.url }, 0);
    const started = performance.now();
    await seedLarge(database, { files, large: Math.floor(files / 10), moved: sizes, copies: COPIES });
    progress(`created ${files} files in ${Math.round((performance.now() - started) / 1000)} s`);
  }
  await small.query('CHECKPOINT');

  const openedSmall = await openServices(small);
  const openedLarge = await openServices(large);
  later(() => openedSmall.close());
  later(() => openedLarge.close());
  const tenantPlaces = (services: Services, files: number): Places =>
    createPlaces(Math.floor((files * 0.9) / 100), (n) => ({ services, tenant: `t${n}`, directory: 0 }));
  const fixtures: Record<Fixture, Places> = {
    small: tenantPlaces(openedSmall.services, SMALL_FILES),
    large: tenantPlaces(openedLarge.services, FILES),
    largest: createPlaces(Math.floor(FILES / 1000), (directory) => ({
      services: openedLarge.services,
      tenant: 'large',
      directory,
    })),
  };

  const rows: Row[] = [];
  for (const [name, call] of Object.entries(calls)) rows.push(await compare(name, call, fixtures));
  const moves = [];
  for (const files of SIZES) {
    moves.push({ files, ...(await measureMoves(openStore(openedLarge.services, 'moved'), files)) });
    progress(`moved and deleted directories of ${files} files`);
  }
  const jobs = await measureJobs(large, openedLarge);
  progress('ran the jobs, the lists, and the search');
  const starts = {
    small: await measureStart(scratch, { DATABASE_URL: small.url }),
    large: await measureStart(scratch, { DATABASE_URL: large.url }),
  };
  const results = {
    date: new Date().toISOString().slice(0, 16).replace('T', ' '),
    postgres: server.description,
    files: FILES,
    rows,
    moves,
    jobs,
    starts,
  };
  const directory = join(root, 'bench', 'results');
  await mkdir(directory, { recursive: true });
  await writeFile(join(directory, 'explain.txt'), await explainAll(large, 'large'));
  await writeFile(join(directory, 'explain-small.txt'), await explainAll(small, 'large'));
  const json = `${JSON.stringify(results, null, 2)}\n`;
  await writeFile(join(directory, 'scale.json'), json);
  await writeFile(join(directory, 'scale.md'), scaleMarkdown(results));
  process.stdout.write(process.argv.includes('--json') ? json : scaleMarkdown(results));
});

async function openServices({ url }: BenchDatabase) {
  const config = loadConfig({ DATABASE_URL: url, DB_STATEMENT_TIMEOUT_MS: '0', ...UNLIMITED });
  const database = await openDatabase(config);
  const services = new Services(config, database, createSecretScanner());
  return { services, database, config, close: () => services.close().then(() => database.close()) };
}

/** @param choosePlace returns the tenant and directory with a number */
function createPlaces(
  total: number,
  choosePlace: (n: number) => { services: Services; tenant: string; directory: number },
): Places {
  const order = Array.from({ length: total }, (_, n) => n).sort(() => Math.random() - 0.5);
  let next = 0;
  const nextPlace = (): Place => {
    const { services, tenant, directory } = choosePlace(order[next++ % total] ?? 0);
    const path = `/memories/d${directory}` as MemoryPath;
    return {
      store: () => openStore(services, tenant),
      directory: path,
      file: `${path}/f${pick(100)}.md` as MemoryPath,
    };
  };
  return (count) => Array.from({ length: count }, nextPlace);
}

function openStore(services: Services, tenant: string): MemoryStore {
  return new Memory(services, tenant, { autoCreate: false, origin: { actor: { type: 'anonymous' } } });
}

/**
 * Calls all places once, and then again as often as `WARM`. Measures the fixtures in turn and rotates the first one, so
 * that changes in the machine's speed affect all equally.
 */
async function compare(
  name: string,
  call: (place: Place) => Promise<unknown>,
  fixtures: Record<Fixture, Places>,
): Promise<Row> {
  for (const fixture of FIXTURES) for (const place of fixtures[fixture](WARM_UP)) await call(place);
  const measureByFixture = <T>(create: (fixture: Fixture) => T) =>
    Object.fromEntries(FIXTURES.map((fixture) => [fixture, create(fixture)])) as Record<Fixture, T>;
  const places = measureByFixture((fixture) => fixtures[fixture](CALLS));
  const times = measureByFixture(() => ({ cold: [] as number[], warm: [] as number[] }));
  for (let pass = 0; pass <= WARM; pass++) {
    for (let i = 0; i < CALLS; i++) {
      for (let turn = 0; turn < FIXTURES.length; turn++) {
        const fixture = FIXTURES[(turn + i) % FIXTURES.length] ?? 'small';
        const started = performance.now();
        await call(places[fixture][i] as Place);
        times[fixture][pass === 0 ? 'cold' : 'warm'].push(performance.now() - started);
      }
    }
  }
  const medians = measureByFixture((fixture) => ({
    cold: median(times[fixture].cold),
    warm: median(times[fixture].warm),
  }));
  const shown = FIXTURES.map(
    (fixture) => `${medians[fixture].cold.toFixed(2)} ${medians[fixture].warm.toFixed(2)}`,
  );
  progress(`${name}, cold and warm: ${shown.join(', ')} ms`);
  return { name, ...medians };
}

/** Returns files per second, as medians over the directory's copies. */
async function measureMoves(store: MemoryStore, files: number): Promise<{ rename: number; delete: number }> {
  const measureTime = async (work: () => Promise<unknown>) => {
    const started = performance.now();
    await work();
    return files / ((performance.now() - started) / 1000);
  };
  const renames: number[] = [];
  const deletes: number[] = [];
  for (let copy = 0; copy < COPIES; copy++) {
    const from = `/memories/m${files}-${copy}` as MemoryPath;
    const to = `/memories/moved/m${files}-${copy}` as MemoryPath;
    renames.push(await measureTime(async () => expect((await store.rename(from, to, DONE)).kind, 'renamed')));
    deletes.push(await measureTime(async () => expect((await store.delete(to, DONE)).kind, 'deleted')));
  }
  return { rename: median(renames), delete: median(deletes) };
}

function expect(given: string, wanted: string): void {
  if (given !== wanted) throw new Error(`Expected ${wanted}, got ${given}.`);
}
