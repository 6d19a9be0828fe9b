import { randomUUID } from 'node:crypto';
import { ancestorsOf, isBelow, MAX_DEPTH, MAX_PATH_BYTES, type MemoryPath, ROOT } from '../memory/path.ts';
import type { Created, Edit, Edited, Looked, MemoryStore, Renamed } from '../memory/store.ts';
import type { Database } from './database.ts';
import { CONFLICTS, sqlState, toServiceError } from './errors.ts';
import { SerialQueue } from './serial-queue.ts';
import type { Run } from './statement.ts';
import {
  createFileStatement,
  deleteStatement,
  explainRenameStatement,
  kindsStatement,
  lockTenantStatement,
  lookStatement,
  readFileStatement,
  renameStatement,
  writeFileStatement,
} from './statements.ts';

/** How often a write is tried before it locks the tenant's other writers out, after which it cannot lose a race. */
const OPTIMISTIC_TRIES = 3;

/**
 * A write as the store tries it. `execute` does it in one statement, and answers undefined when something came in
 * between. `explain` says why it cannot be done, or undefined when nothing stands in its way (any more).
 */
interface Write<T> {
  execute(run: Run): Promise<T | undefined>;
  explain?(run: Run): Promise<T | undefined>;
}

/** The memory of all tenants in one database. */
export class PostgresMemory {
  readonly #database: Database;
  readonly #writers = new SerialQueue();

  constructor(database: Database) {
    this.#database = database;
  }

  /** One tenant's memory. `tenant` has to be a valid tenant id. */
  forTenant(tenant: string): MemoryStore {
    return new TenantMemory(this.#database, this.#writers, tenant);
  }
}

class TenantMemory implements MemoryStore {
  readonly #database: Database;
  readonly #writers: SerialQueue;
  readonly #tenant: string;

  constructor(database: Database, writers: SerialQueue, tenant: string) {
    this.#database = database;
    this.#writers = writers;
    this.#tenant = tenant;
  }

  async look(path: MemoryPath, maxEntries: number): Promise<Looked> {
    const { rows } = await this.#read((run) =>
      run(lookStatement, { tenant: this.#tenant, path, limit: maxEntries }),
    );
    const self = rows.find((row) => row.path === path);
    if (self === undefined) {
      return path === ROOT ? { kind: 'dir', entries: [], total: 0 } : { kind: 'missing' };
    }
    if (self.kind === 'file') return { kind: 'file', content: self.content ?? '' };
    const listed = rows.filter((row) => row !== self);
    return {
      kind: 'dir',
      entries: listed.map((row) => ({ path: row.path as MemoryPath, kind: row.kind, bytes: row.bytes ?? 0 })),
      total: listed[0]?.total ?? 0,
    };
  }

  create(path: MemoryPath, content: string): Promise<Created> {
    const tenant = this.#tenant;
    const ancestors = ancestorsOf(path);
    return this.#write<Created>({
      execute: async (run) => {
        await run(createFileStatement, { tenant, path, ancestors, content, version: randomUUID() });
        return { kind: 'created' };
      },
      explain: async (run) => {
        const { rows } = await run(kindsStatement, { tenant, paths: [path, ...ancestors] });
        const kinds = new Map(rows.map((row) => [row.path, row.kind]));
        if (kinds.has(path)) return { kind: 'exists' };
        return fileAmong(ancestors, kinds);
      },
    });
  }

  edit(path: MemoryPath, change: (content: string) => Edit): Promise<Edited> {
    const tenant = this.#tenant;
    return this.#write<Edited>({
      execute: async (run) => {
        const file = (await run(readFileStatement, { tenant, path })).rows[0];
        if (file === undefined) return { kind: 'missing' };
        const { content, result } = change(file.content);
        if (content === undefined) return { kind: 'refused', result };
        const { count } = await run(writeFileStatement, {
          tenant,
          path,
          readVersion: file.version,
          content,
          version: randomUUID(),
        });
        return count === 1 ? { kind: 'edited', result } : undefined;
      },
    });
  }

  delete(path: MemoryPath): Promise<'deleted' | 'missing'> {
    return this.#write<'deleted' | 'missing'>({
      execute: async (run) => {
        const { count } = await run(deleteStatement, { tenant: this.#tenant, path });
        return count === 1 ? 'deleted' : 'missing';
      },
    });
  }

  rename(from: MemoryPath, to: MemoryPath): Promise<Renamed> {
    const tenant = this.#tenant;
    const ancestors = ancestorsOf(to);
    const intoItself = from === to || isBelow(to, from);
    return this.#write<Renamed>({
      execute: async (run) => {
        if (intoItself) return undefined;
        const { count } = await run(renameStatement, { tenant, from, to, ancestors });
        return count > 0 ? { kind: 'renamed' } : undefined;
      },
      explain: async (run) => {
        const { rows } = await run(explainRenameStatement, {
          tenant,
          from,
          to,
          paths: [from, to, ...ancestors],
          maxBytes: MAX_PATH_BYTES,
          maxDepth: MAX_DEPTH,
        });
        const kinds = new Map(rows.map(({ path, kind }) => [path, kind]));
        if (kinds.has(to)) return { kind: 'destination_exists' };
        if (!kinds.has(from)) return { kind: 'source_missing' };
        if (intoItself) return { kind: 'inside_itself' };
        const file = fileAmong(ancestors, kinds);
        if (file) return file;
        const tooLong = rows.find(({ kind }) => kind === 'too_long');
        return tooLong && { kind: 'too_long', path: tooLong.path };
      },
    });
  }

  async #read<T>(work: (run: Run) => Promise<T>): Promise<T> {
    try {
      return await work(this.#database.run);
    } catch (error) {
      throw toServiceError(error);
    }
  }

  /** The one way by which anything is written. */
  async #write<T>(write: Write<T>): Promise<T> {
    try {
      return await this.#writers.run(this.#tenant, async () => {
        for (let attempt = 0; attempt < OPTIMISTIC_TRIES; attempt++) {
          const outcome = await this.#tryWrite(write, this.#database.run);
          if (outcome !== undefined) return outcome;
        }
        return await this.#writeExclusively(write);
      });
    } catch (error) {
      throw toServiceError(error);
    }
  }

  async #tryWrite<T>(write: Write<T>, run: Run): Promise<T | undefined> {
    try {
      const outcome = await write.execute(run);
      if (outcome !== undefined) return outcome;
    } catch (error) {
      if (!CONFLICTS.has(sqlState(error) ?? '')) throw error;
    }
    return write.explain?.(run);
  }

  /** With the tenant locked first, each statement sees what the writers before it left, and nothing comes in between. */
  async #writeExclusively<T>(write: Write<T>): Promise<T> {
    return this.#database.transaction(async (run) => {
      await run(lockTenantStatement, { tenant: this.#tenant });
      const outcome = (await write.explain?.(run)) ?? (await write.execute(run));
      if (outcome === undefined) throw new Error('A write lost a race while it held the lock of its tenant.');
      return outcome;
    });
  }
}

function fileAmong(paths: MemoryPath[], kinds: Map<string, string>) {
  const path = paths.find((each) => kinds.get(each) === 'file');
  return path && ({ kind: 'not_a_directory', path } as const);
}
