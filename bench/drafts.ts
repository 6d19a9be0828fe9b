/**
 * `npm run bench -- drafts`: measures how long it takes to create a draft from a large memory, and to merge some of its
 * changes. Meanwhile, the same tenant and another one write. Prints Markdown.
 *
 * Environment: FILES (10000), CHANGED (500), FILE_BYTES (2000), ROUNDS (5); TEST_DATABASE_URL and TEST_POSTGRES as for
 * the tests.
 */
import { loadavg } from 'node:os';
import { setTimeout as wait } from 'node:timers/promises';
import { loadConfig } from '../src/core/config.ts';
import { migrate } from '../src/core/database/migrate.ts';
import { openDatabase } from '../src/core/database/open-database.ts';
import { Memory } from '../src/core/files/memory.ts';
import { Services } from '../src/core/files/services.ts';
import { MergeThreads } from '../src/core/history/line-merge.ts';
import type { MemoryPath } from '../src/core/memory/path.ts';
import { effectiveSettings } from '../src/core/tenants/effective-settings.ts';
import { Tenants } from '../src/core/tenants/tenants.ts';
import { compareDraft } from '../src/features/drafts/compare.ts';
import { createDraft } from '../src/features/drafts/create-draft.ts';
import { mergeDraft } from '../src/features/drafts/merge.ts';
import { createSecretScanner } from '../src/features/secrets/scanner.ts';
import { progress, setting, withCleanup } from './support/cleanup.ts';
import { UNLIMITED } from './support/data.ts';
import { type BenchDatabase, startPostgres } from './support/postgres.ts';
import { median } from './support/statistics.ts';

const FILES = setting('FILES', 10_000);
const CHANGED = setting('CHANGED', 500);
const FILE_BYTES = setting('FILE_BYTES', 2000);
const ROUNDS = setting('ROUNDS', 5);

/** Baseline duration, about as long as creating and merging a draft. */
const BASELINE_MS = 600;

const author = { type: 'operator', name: 'bench' } as const;
const DONE = { content: 'done', isError: false };

const run = () =>
  withCleanup(async (scratch, later) => {
    const server = await startPostgres(scratch);
    later(() => server.stop());
    const bench = await server.createDatabase();
    const config = loadConfig({
      DATABASE_URL: bench.url,
      ...UNLIMITED,
      MAX_TENANT_DRAFT_BYTES: '0',
    });
    const database = await openDatabase(config);
    later(() => database.close());
    await migrate(database);
    const threads = new MergeThreads();
    later(() => threads.close());
    const services = new Services(config, database, createSecretScanner());
    later(() => services.close());
    progress(`${FILES} files of ${FILE_BYTES} bytes; ${server.description}`);
    for (const tenant of ['original', 'other']) await new Tenants(database).create(tenant);
    await fill(bench, services);

    const times: { made: number; compared: number; merged: number; waits: Record<string, number> }[] = [];
    for (let round = 0; round < ROUNDS; round++) {
      const writers = ['original', 'other'].map((tenant) => new Writer(services, tenant, round));
      await wait(BASELINE_MS);
      const [, alone = 0] = writers.map((writer) => writer.takeLongest());
      const [made, draft] = await measureTime(() =>
        createDraft(database, config, 'original', { title: 'bench', author }),
      );
      const whileMade = writers.map((writer) => writer.takeLongest());
      const store = new Memory(services, draft.id, { autoCreate: false, origin: { actor: author } });
      for (let i = 0; i < CHANGED; i++) {
        const path = `/memories/d${i % 100}/f${i}` as MemoryPath;
        await store.edit(path, (content) => ({
          content: `${round} ${content}`,
          start: 0,
          end: `${round} `.length,
          result: DONE,
        }));
      }
      const ids = { tenant: 'original', draft: draft.id };
      const [compared, { review }] = await measureTime(() => compareDraft(database, threads, ids));
      for (const writer of writers) writer.takeLongest();
      const options = { config, threads, approver: author, review };
      const [merged, { changes }] = await measureTime(() => mergeDraft(database, ids, new Map(), options));
      const [original = 0, other = 0] = await Promise.all(writers.map((writer) => writer.stop()));
      if (changes.length !== CHANGED) throw new Error(`${changes.length} files were merged.`);
      const [madeOriginal = 0, madeOther = 0] = whileMade;
      times.push({ made, compared, merged, waits: { alone, madeOriginal, madeOther, original, other } });
      progress(`round ${round + 1}: made ${made} ms, compared ${compared} ms, merged ${merged} ms`);
    }
    const medianAndMax = (pick: (time: (typeof times)[number]) => number) => {
      const values = times.map(pick);
      return `${Math.round(median(values))} | ${Math.round(Math.max(...values))}`;
    };
    console.log(
      `${server.description}. Load: ${loadavg()
        .map((each) => each.toFixed(1))
        .join(', ')}.\n`,
    );
    console.log('| ms | median | worst |\n|---|---|---|');
    console.log(
      `| longest write in ${BASELINE_MS} ms with no draft | ${medianAndMax(({ waits }) => waits.alone ?? 0)} |`,
    );
    console.log(`| make a draft of ${FILES} files | ${medianAndMax(({ made }) => made)} |`);
    console.log(
      `| longest write of its tenant meanwhile | ${medianAndMax(({ waits }) => waits.madeOriginal ?? 0)} |`,
    );
    console.log(
      `| longest write of another tenant meanwhile | ${medianAndMax(({ waits }) => waits.madeOther ?? 0)} |`,
    );
    console.log(
      `| compare it, with ${CHANGED} changed files | ${medianAndMax(({ compared }) => compared)} |`,
    );
    console.log(`| merge it | ${medianAndMax(({ merged }) => merged)} |`);
    console.log(
      `| longest write of its tenant meanwhile | ${medianAndMax(({ waits }) => waits.original ?? 0)} |`,
    );
    console.log(
      `| longest write of another tenant meanwhile | ${medianAndMax(({ waits }) => waits.other ?? 0)} |`,
    );
    // The service's settings apply, except for its quotas.
    progress(`history for ${effectiveSettings({}, config).historyDays} days`);
  });

async function fill({ query }: BenchDatabase, services: Services): Promise<void> {
  const store = new Memory(services, 'original', { autoCreate: false, origin: { actor: author } });
  const line = `${'lorem ipsum '.repeat(8)}\n`;
  const content = line.repeat(Math.ceil(FILE_BYTES / line.length)).slice(0, FILE_BYTES);
  for (let i = 0; i < FILES; i += 100) {
    const paths = Array.from(
      { length: Math.min(100, FILES - i) },
      (_, j) => `/memories/d${(i + j) % 100}/f${i + j}`,
    );
    await Promise.all(paths.map((path) => store.create(path as MemoryPath, content, DONE)));
  }
  await query('VACUUM ANALYZE');
}

/** Writes one file after another, as an agent would. */
class Writer {
  #isDone = false;
  #longest = 0;
  readonly #work: Promise<void>;

  constructor(services: Services, tenant: string, round: number) {
    this.#work = this.#write(services, tenant, round);
  }

  /** Returns the longest write time since the previous call, in milliseconds. */
  takeLongest(): number {
    const longest = this.#longest;
    this.#longest = 0;
    return longest;
  }

  async stop(): Promise<number> {
    this.#isDone = true;
    await this.#work;
    return this.takeLongest();
  }

  async #write(services: Services, tenant: string, round: number): Promise<void> {
    const store = new Memory(services, tenant, { autoCreate: false, origin: { actor: author } });
    for (let i = 0; !this.#isDone; i++) {
      const path = `/memories/written/${round}-${i}` as MemoryPath;
      const [took] = await measureTime(() => store.create(path, 'x', DONE));
      this.#longest = Math.max(this.#longest, took);
      await store.delete(path, DONE);
    }
  }
}

async function measureTime<T>(work: () => Promise<T>): Promise<[milliseconds: number, result: T]> {
  const started = performance.now();
  const result = await work();
  return [Math.round(performance.now() - started), result];
}

await run();
