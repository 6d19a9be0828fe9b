import { randomUUID } from 'node:crypto';
import type { Database } from '../database/database.ts';
import { MAX_DEPTH, MAX_PATH_BYTES, type MemoryPath, ROOT } from '../memory/path.ts';
import type { MemoryResult } from '../memory/result.ts';
import type {
  Created,
  Edit,
  Edited,
  ListedEntry,
  Listing,
  LookupResult,
  MemoryStore,
  MemoryStores,
  Renamed,
  StoreOptions,
  TenantDefaults,
} from '../memory/store.ts';
import { StoredResultLimit } from '../tenants/stored-results.ts';
import { AccessTimes } from './access-times.ts';
import { deleteFileIf, editFile } from './edits.ts';
import { Memories } from './memories.ts';
import { PendingFiles } from './pending-files.ts';
import { type LookupRow, listRootQuery, lookupFileQuery, lookupQuery } from './read-queries.ts';
import { type Shared, TenantDatabase } from './tenant-database.ts';
import { createFunction, deleteFunction, recordFailureFunction, renameFunction } from './write-functions.ts';
import { WriteQueue } from './write-queue.ts';

/** Settings that hold for all tenants. */
export interface MemoryOptions {
  /** Maximum number of writes that share a statement. */
  batchSize: number;
  /** Maximum number of stored results of a tenant; 0: no limit. */
  maxStoredResults: number;
  defaults: TenantDefaults;
}

/** The memory of all tenants in one database. Throws `DatabaseError`. */
export class PostgresMemory implements MemoryStores {
  readonly #shared: Shared;

  constructor(database: Database, { batchSize, maxStoredResults, defaults }: MemoryOptions) {
    const executors = { batched: database.queryBatch, single: database.query };
    const writes = new WriteQueue(executors, batchSize, database.tracer);
    this.#shared = {
      database,
      defaults,
      writes,
      pending: new PendingFiles(),
      accessTimes: new AccessTimes(database, writes),
      storedResults: new StoredResultLimit(database, maxStoredResults),
    };
  }

  forTenant(tenant: string, options: StoreOptions): MemoryStore {
    return new TenantMemory(new TenantDatabase({ tenant, ...options, ...this.#shared }));
  }

  /** The files of a tenant by their ids. */
  memoriesOf(tenant: string, options: StoreOptions): Memories {
    return new Memories(new TenantDatabase({ tenant, ...options, ...this.#shared }));
  }

  /** Completes the background writes. Call it when no more requests come. */
  async close(): Promise<void> {
    await Promise.all([this.#shared.accessTimes.close(), this.#shared.storedResults.close()]);
  }
}

class TenantMemory implements MemoryStore {
  readonly #db: TenantDatabase;

  constructor(db: TenantDatabase) {
    this.#db = db;
  }

  async lookup(path: MemoryPath, maxEntries: number): Promise<LookupResult> {
    const { tenant } = this.#db.context;
    if (isNamedLikeFile(path)) {
      const [entry] = (await this.#db.readOfTenant(lookupFileQuery, { tenant, path })).rows;
      if (!entry?.kind) return { kind: 'missing' };
      if (entry.kind === 'file') return this.#file(path, entry);
      // A directory after all: look it up again, together with its listing, so that both are of the same moment.
    }
    const [entry] = (await this.#db.readOfTenant(lookupQuery, { tenant, path, maxEntries })).rows;
    if (!entry?.kind) {
      return path === ROOT ? { kind: 'dir', entries: [], total: 0 } : { kind: 'missing' };
    }
    if (entry.kind === 'file') return this.#file(path, entry);
    return { kind: 'dir', entries: entriesOf(entry), total: entry.total ?? 0 };
  }

  async rootEntries(maxEntries: number): Promise<Listing> {
    const { tenant, origin } = this.#db.context;
    // The mounts of a tenant are many, and their long listings must not take all connections.
    const turn = origin.viaTenant ?? tenant;
    const [row] = (await this.#db.readOfTenant(listRootQuery, { tenant, maxEntries, turn })).rows;
    return row === undefined ? { entries: [], total: 0 } : { entries: entriesOf(row), total: row.total ?? 0 };
  }

  #file(path: MemoryPath, { content, stale }: Pick<LookupRow, 'content' | 'stale'>): LookupResult {
    const { tenant, accessTimes } = this.#db.context;
    if (stale) accessTimes.note(tenant, path);
    return { kind: 'file', content: content ?? '' };
  }

  create(path: MemoryPath, content: string, result: MemoryResult): Promise<Created> {
    const { autoCreate, defaults } = this.#db.context;
    const { origin } = this.#db;
    const params = { path, content, version: randomUUID(), autoCreate, origin, ...defaults };
    return this.#db.write(createFunction, params, result);
  }

  delete(path: MemoryPath, result: MemoryResult) {
    const { origin, context } = this.#db;
    const params = { path, change: randomUUID(), origin, ...context.defaults };
    return this.#db.write(deleteFunction, params, result);
  }

  deleteIf(path: MemoryPath, isExpected: (content: string) => boolean, result: MemoryResult) {
    return deleteFileIf(this.#db, path, isExpected, result);
  }

  rename(from: MemoryPath, to: MemoryPath, result: MemoryResult): Promise<Renamed> {
    const { origin, context } = this.#db;
    const limits = { ...pathLimits(context.seenAt ?? ROOT), ...context.defaults };
    const params = { from, to, change: randomUUID(), origin, ...limits };
    return this.#db.write(renameFunction, params, result);
  }

  async reserveKey(result: MemoryResult): Promise<void> {
    if (this.#db.context.request) await this.#db.write(recordFailureFunction, {}, result);
  }

  async recordFailure(result: MemoryResult): Promise<void> {
    // What failed before it came to the store fails again in the same way.
    if (this.#db.context.request && this.#db.writeAttempted)
      await this.#db.write(recordFailureFunction, {}, result);
  }

  edit<R>(path: MemoryPath, change: (content: string) => Edit<R> | Promise<Edit<R>>): Promise<Edited<R>> {
    return editFile(this.#db, path, change);
  }
}

/** The maximum length and depth of paths in a memory that is seen at a directory. */
function pathLimits(seenAt: MemoryPath): { maxPathBytes: number; maxDepth: number } {
  const prefix = seenAt.slice(ROOT.length);
  return {
    maxPathBytes: MAX_PATH_BYTES - Buffer.byteLength(prefix),
    maxDepth: MAX_DEPTH - (prefix.split('/').length - 1),
  };
}

function entriesOf({ entries }: Pick<LookupRow, 'entries'>): ListedEntry[] {
  if (entries === null) return [];
  return entries.split('\n').map((line) => {
    const [path, bytes] = line.split('\t');
    return {
      path: path as MemoryPath,
      kind: bytes === undefined ? 'dir' : 'file',
      bytes: Number(bytes ?? 0),
    };
  });
}

/** Guesses by the extension. A wrong guess costs one more statement. */
function isNamedLikeFile(path: MemoryPath): boolean {
  return path.lastIndexOf('.') > path.lastIndexOf('/');
}
