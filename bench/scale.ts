/**
 * `npm run bench -- scale`: measures whether a call is as fast with a million files as with a thousand. Also measures
 * moves and deletions of directories, and the hourly jobs, lists, and searches of operators, with their strongest locks.
 * It calls the store directly, without HTTP. Writes to bench/results, which git
 * ignores: scale.md, scale.json (which --json prints), and the plans of the statements in explain.txt and, for a
 * thousand files, explain-small.txt. bench/RESULTS.md has the latest published run.
 *
 * Environment: FILES (1000000), CALLS of each kind (400); TEST_DATABASE_URL and TEST_POSTGRES as for the tests.
 */
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { loadConfig } from '../src/core/config.ts';
import { openDatabase } from '../src/core/database/open.ts';
import { Memory } from '../src/core/files/memory.ts';
import { Services } from '../src/core/files/services.ts';
import type { MemoryPath } from '../src/core/memory/path.ts';
import type { MemoryStore } from '../src/core/memory/store.ts';
import { splice } from '../src/core/memory/text.ts';
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
import { type Row, scaleMarkdown } from './support/scale-report.ts';
import { median } from './support/statistics.ts';

const FILES = setting('FILES', 1_000_000);
const SMALL_FILES = 1000;
const CALLS = setting('CALLS', 400);
const COPIES = 3;
/** Number of files in the directories that are moved and deleted. */
const SIZES = [...new Set([1000, 100, 20].map((share) => Math.min(Math.floor(FILES / share), 50_000)))];

const DONE = { content: 'done', isError: false };
const pick = (n: number) => Math.floor(Math.random() * n);
const filePath = (directories: number) => `/memories/d${pick(directories)}/f${pick(100)}.md` as MemoryPath;

/** A store for a random tenant or for the largest one. */
interface Fixture {
  store(): MemoryStore;
  directories: number;
}

const FIXTURES = ['small', 'large', 'largest'] as const;

let made = 0;
const calls: Record<string, (fixture: Fixture) => Promise<unknown>> = {
  'view of a file': ({ store, directories }) => store().lookup(filePath(directories), 1000),
  'view of a directory of 100': ({ store, directories }) =>
    store().lookup(`/memories/d${pick(directories)}` as MemoryPath, 5000),
  // Files are created in existing directories. A new directory costs more, and the small table would soon contain all
  // of them.
  create: async ({ store, directories }) => {
    const path = `/memories/d${pick(directories)}/new-${made++}.md` as MemoryPath;
    expect((await store().create(path, text(1024), DONE)).kind, 'created');
  },
  edit: async ({ store, directories }) => {
    const change = (content: string) => {
      const at = content.indexOf('log:');
      return { ...splice(content, at, 0, '.'), result: DONE };
    };
    expect((await store().edit(filePath(directories), change)).kind, 'edited');
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
  const any = (services: Services, files: number): Fixture => ({
    store: () =>
      new Memory(services, `t${pick(Math.floor((files * 0.9) / 100))}`, {
        autoCreate: false,
        origin: { actor: { type: 'anonymous' } },
      }),
    directories: 1,
  });
  const fixtures: Record<'small' | 'large' | 'largest', Fixture> = {
    small: any(openedSmall.services, SMALL_FILES),
    large: any(openedLarge.services, FILES),
    largest: {
      store: () =>
        new Memory(openedLarge.services, 'large', {
          autoCreate: false,
          origin: { actor: { type: 'anonymous' } },
        }),
      directories: Math.floor(FILES / 1000),
    },
  };

  const rows: Row[] = [];
  for (const [name, call] of Object.entries(calls)) rows.push(await compare(name, call, fixtures));
  const moves = [];
  for (const files of SIZES) {
    const store = new Memory(openedLarge.services, 'moved', {
      autoCreate: false,
      origin: { actor: { type: 'anonymous' } },
    });
    moves.push({ files, ...(await measureMoves(store, files)) });
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
  const folder = join(root, 'bench', 'results');
  await mkdir(folder, { recursive: true });
  await writeFile(join(folder, 'explain.txt'), await explainAll(large, 'large'));
  await writeFile(join(folder, 'explain-small.txt'), await explainAll(small, 'large'));
  const json = `${JSON.stringify(results, null, 2)}\n`;
  await writeFile(join(folder, 'scale.json'), json);
  await writeFile(join(folder, 'scale.md'), scaleMarkdown(results));
  process.stdout.write(process.argv.includes('--json') ? json : scaleMarkdown(results));
});

async function openServices({ url }: BenchDatabase) {
  const config = loadConfig({ DATABASE_URL: url, DB_STATEMENT_TIMEOUT_MS: '0', ...UNLIMITED });
  const database = await openDatabase(config);
  const services = new Services(config, database, createSecretScanner());
  return { services, database, config, close: () => services.close().then(() => database.close()) };
}

/**
 * Measures the fixtures in turn and rotates the first one, so that changes of the machine's speed affect all equally.
 */
async function compare(
  name: string,
  call: (fixture: Fixture) => Promise<unknown>,
  fixtures: Record<'small' | 'large' | 'largest', Fixture>,
): Promise<Row> {
  const times = { small: [] as number[], large: [] as number[], largest: [] as number[] };
  for (let i = -20; i < CALLS; i++) {
    for (let turn = 0; turn < FIXTURES.length; turn++) {
      const key = FIXTURES[(turn + i + 21) % FIXTURES.length] ?? 'small';
      const started = performance.now();
      await call(fixtures[key]);
      if (i >= 0) times[key].push(performance.now() - started);
    }
  }
  const row = {
    name,
    small: median(times.small),
    large: median(times.large),
    largest: median(times.largest),
  };
  progress(`${name}: ${row.small.toFixed(2)}, ${row.large.toFixed(2)}, ${row.largest.toFixed(2)} ms`);
  return row;
}

/** Returns files per second, as medians over the copies of the directory. */
async function measureMoves(store: MemoryStore, files: number): Promise<{ rename: number; delete: number }> {
  const timed = async (work: () => Promise<unknown>) => {
    const started = performance.now();
    await work();
    return files / ((performance.now() - started) / 1000);
  };
  const renames: number[] = [];
  const deletes: number[] = [];
  for (let copy = 0; copy < COPIES; copy++) {
    const from = `/memories/m${files}-${copy}` as MemoryPath;
    const to = `/memories/moved/m${files}-${copy}` as MemoryPath;
    renames.push(await timed(async () => expect((await store.rename(from, to, DONE)).kind, 'renamed')));
    deletes.push(await timed(async () => expect((await store.delete(to, DONE)).kind, 'deleted')));
  }
  return { rename: median(renames), delete: median(deletes) };
}

function expect(given: string, wanted: string): void {
  if (given !== wanted) throw new Error(`Expected ${wanted}, got ${given}.`);
}
