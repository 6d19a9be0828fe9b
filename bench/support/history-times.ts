import { randomUUID } from 'node:crypto';
import { loadConfig } from '../../src/core/config.ts';
import { databaseTime } from '../../src/core/database/clock.ts';
import type { Database } from '../../src/core/database/database.ts';
import { migrate } from '../../src/core/database/migrate.ts';
import { openDatabase } from '../../src/core/database/open-database.ts';
import { Memory } from '../../src/core/files/memory.ts';
import { Services } from '../../src/core/files/services.ts';
import { History } from '../../src/core/history/history.ts';
import { restoreAt } from '../../src/core/history/restore.ts';
import { BATCH } from '../../src/core/lib/pages.ts';
import { type MemoryPath, ROOT } from '../../src/core/memory/path.ts';
import { splice } from '../../src/core/memory/text-changes.ts';
import { Tenants } from '../../src/core/tenants/tenants.ts';
import { type ImportSource, writeImport } from '../../src/features/archive/import-transaction.ts';
import { createSecretScanner } from '../../src/features/secrets/scanner.ts';
import { LARGE_BYTES, SMALL_BYTES, text, UNLIMITED } from './data.ts';
import type { BenchDatabase } from './postgres.ts';

const DEFAULTS = { maxFiles: 0, maxBytes: 0, historyDays: 30, maxHistoryBytes: 0 };
const ORIGIN = { actor: { type: 'operator', name: 'bench' } } as const;
const DONE = { content: 'done', isError: false };
const [HERE, THERE] = ['/memories/here', '/memories/there'] as [MemoryPath, MemoryPath];

/** Times in milliseconds. */
export interface HistoryTimes {
  restoreOfDeleted: number;
  restoreOfMoved: number;
  rename: number;
}

/**
 * Measures restoring a directory with `restored` files, and renaming a directory with `renamed` files, in a migrated
 * database.
 */
export async function measureTimes(
  url: string,
  { restored, renamed }: { restored: number; renamed: number },
): Promise<HistoryTimes> {
  const config = loadConfig({ DATABASE_URL: url, DB_STATEMENT_TIMEOUT_MS: '0', ...UNLIMITED });
  const database = await openDatabase(config);
  const services = new Services(config, database, createSecretScanner());
  try {
    const store = (tenant: string) => new Memory(services, tenant, { autoCreate: false, origin: ORIGIN });
    await fill(database, 'restored', restored);
    const at = (await databaseTime(database)).toISOString();
    const restore = () =>
      restoreAt(
        database,
        'restored',
        { path: ROOT, at },
        { origin: ORIGIN, defaults: DEFAULTS, keptOut: undefined },
      );
    await store('restored').delete(HERE, DONE);
    const restoreOfDeleted = await measureTime(restore);
    await store('restored').rename(HERE, THERE, DONE);
    const restoreOfMoved = await measureTime(restore);
    await fill(database, 'renamed', renamed);
    return {
      restoreOfDeleted,
      restoreOfMoved,
      rename: await measureTime(() => store('renamed').rename(HERE, THERE, DONE)),
    };
  } finally {
    await services.close();
    await database.close();
  }
}

/** Number of 40-byte edits in a 10 KB file. */
const EDITS = 10_000;

/**
 * Measures the history after many edits to one file: its size on disk with indexes, and the time to read the oldest
 * version.
 */
export async function measureEdits({
  url,
  query,
}: BenchDatabase): Promise<{ bytes: number; readMs: number }> {
  const config = loadConfig({ DATABASE_URL: url, ...UNLIMITED });
  const database = await openDatabase(config);
  await migrate(database);
  const services = new Services(config, database, createSecretScanner());
  const tenant = 'edited';
  const path = `${ROOT}/notes.md` as MemoryPath;
  const readSize = async () =>
    Number((await query("SELECT pg_total_relation_size('versions') AS bytes"))[0]?.bytes);
  try {
    const actor = { type: 'api_key', id: 'key_9dd536983e6a', label: 'support-agent' } as const;
    const origin = { actor, requestId: randomUUID(), toolUseId: 'toolu_01A09q90qw90lq917835lq9' };
    const store = new Memory(services, tenant, { autoCreate: true, origin });
    await store.create(path, text(LARGE_BYTES), DONE);
    await query('TRUNCATE versions');
    const before = await readSize();
    for (let i = 0; i < EDITS; i++) {
      const line = String(i).padStart(40, 'abcdefghij');
      await store.edit(path, (content) => ({
        ...splice(content, 2000 + ((i * 7) % 500), 40, line),
        result: DONE,
      }));
    }
    const bytes = ((await readSize()) - before) / EDITS;
    const history = new History(database);
    const [oldest] = await query('SELECT id FROM versions ORDER BY id LIMIT 1');
    const read = () => history.requireWithContent(tenant, String(oldest?.id));
    // The first read also prepares the statement.
    await read();
    return { bytes, readMs: await measureTime(read) };
  } finally {
    await services.close();
    await database.close();
  }
}

async function measureTime(work: () => Promise<unknown>): Promise<number> {
  const started = performance.now();
  await work();
  return performance.now() - started;
}

/** Creates a tenant with 1 KB files in one directory. */
async function fill(database: Database, tenant: string, files: number): Promise<void> {
  await new Tenants(database).create(tenant);
  const modified = new Date(0);
  const paths = Array.from({ length: files }, (_, i) => `${HERE}/f${i}.md` as MemoryPath);
  const source: ImportSource = {
    entries: new Map<MemoryPath, { kind: 'file' | 'dir'; modified: Date }>([
      [ROOT, { kind: 'dir', modified }],
      [HERE, { kind: 'dir', modified }],
      ...paths.map((path): [MemoryPath, { kind: 'file' | 'dir'; modified: Date }] => [
        path,
        { kind: 'file', modified },
      ]),
    ]),
    files,
    bytes: files * SMALL_BYTES,
    async *batches() {
      for (let from = 0; from < files; from += BATCH.rows) {
        yield paths
          .slice(from, from + BATCH.rows)
          .map((path) => ({ path, content: text(SMALL_BYTES), modified }));
      }
    },
  };
  await writeImport(database, tenant, source, { quotas: DEFAULTS, origin: ORIGIN });
}
