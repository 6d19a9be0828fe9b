import { monitorEventLoopDelay } from 'node:perf_hooks';
import { loadConfig } from '../../src/core/config.ts';
import { databaseTime } from '../../src/core/database/clock.ts';
import { migrate } from '../../src/core/database/migrate.ts';
import { openDatabase } from '../../src/core/database/open-database.ts';
import { Memory } from '../../src/core/files/memory.ts';
import { Services } from '../../src/core/files/services.ts';
import { MergeThreads } from '../../src/core/history/line-merge.ts';
import { revertActor } from '../../src/core/history/revert.ts';
import type { MemoryPath } from '../../src/core/memory/path.ts';
import { splice } from '../../src/core/memory/text-changes.ts';
import { tenantDefaults } from '../../src/core/tenants/effective-settings.ts';
import { Tenants } from '../../src/core/tenants/tenants.ts';
import { createSecretScanner } from '../../src/features/secrets/scanner.ts';
import { text, UNLIMITED } from './data.ts';

const DONE = { content: 'done', isError: false };
const FILES_PER_DIRECTORY = 100;
const CONNECTIONS = 16;

export interface RevertCost {
  step: string;
  seconds: number;
  /** Longest event loop delay. */
  longestDelayMs: number;
  /** Maximum resident memory above the memory before. */
  memoryMiB: number;
}

/**
 * Measures the dry run and the revert for an actor who changed a line in each file, where another user has changed
 * another line since, so that each file is merged.
 */
export async function measureRevert(url: string, files: number, bytes: number): Promise<RevertCost[]> {
  const config = loadConfig({ DATABASE_URL: url, DB_STATEMENT_TIMEOUT_MS: '0', ...UNLIMITED });
  const database = await openDatabase(config);
  await migrate(database);
  const services = new Services(config, database, createSecretScanner());
  const threads = new MergeThreads();
  try {
    await new Tenants(database).create('reverted');
    const openMemoryAs = (name: string) =>
      new Memory(services, 'reverted', {
        autoCreate: false,
        origin: { actor: { type: 'operator', name } },
      });
    const path = (i: number) =>
      `/memories/d${Math.floor(i / FILES_PER_DIRECTORY)}/f${i % FILES_PER_DIRECTORY}.md` as MemoryPath;
    const content = text(bytes);
    const insert = (at: string) => (old: string) => ({
      ...splice(old, at === 'start' ? 0 : old.length, 0, `A line at the ${at}.\n`),
      result: DONE,
    });
    await runInParallel(files, (i) => openMemoryAs('alice').create(path(i), content, DONE));
    const since = (await databaseTime(database)).toISOString();
    await runInParallel(files, (i) => openMemoryAs('mallory').edit(path(i), insert('start')));
    await runInParallel(files, (i) => openMemoryAs('alice').edit(path(i), insert('end')));
    const costs: RevertCost[] = [];
    for (const dryRun of [true, false]) {
      const origin = { actor: { type: 'operator', name: 'bench' } } as const;
      const options = { threads, origin, defaults: tenantDefaults(config), keptOut: undefined, dryRun };
      const { cost, result } = await measureStep(dryRun ? 'dry run' : 'revert', () =>
        revertActor(database, 'reverted', { by: 'mallory', since }, options),
      );
      const merged = result.files.filter(({ mergedSha256 }) => mergedSha256 !== null).length;
      if (merged !== files || result.conflicts.length > 0)
        throw new Error(`Merged ${merged} of ${files} files, with ${result.conflicts.length} conflicts`);
      costs.push(cost);
    }
    return costs;
  } finally {
    await threads.close();
    await services.close();
    await database.close();
  }
}

async function runInParallel(count: number, work: (i: number) => Promise<unknown>): Promise<void> {
  let next = 0;
  const loop = async () => {
    while (next < count) await work(next++);
  };
  await Promise.all(Array.from({ length: CONNECTIONS }, loop));
}

async function measureStep<T>(
  step: string,
  work: () => Promise<T>,
): Promise<{ cost: RevertCost; result: T }> {
  globalThis.gc?.();
  const before = process.memoryUsage.rss();
  let most = before;
  const timer = setInterval(() => {
    most = Math.max(most, process.memoryUsage.rss());
  }, 20);
  const delays = monitorEventLoopDelay({ resolution: 1 });
  delays.enable();
  const started = performance.now();
  const result = await work();
  const seconds = (performance.now() - started) / 1000;
  delays.disable();
  clearInterval(timer);
  return {
    cost: { step, seconds, longestDelayMs: delays.max / 1e6, memoryMiB: (most - before) / 2 ** 20 },
    result,
  };
}
