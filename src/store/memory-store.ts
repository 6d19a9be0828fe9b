import { randomUUID } from 'node:crypto';
import { ServiceError } from '../errors.ts';
import { storedOrigin } from '../history/origin.ts';
import { AnswerLimit } from '../idempotency/answer-limit.ts';
import { storedAnswer } from '../idempotency/idempotency.ts';
import { MAX_DEPTH, MAX_PATH_BYTES, type MemoryPath, ROOT } from '../memory/path.ts';
import type { MemoryResult } from '../memory/result.ts';
import {
  type Created,
  type Edit,
  type Edited,
  IdempotentReplay,
  type ListedEntry,
  type LookupResult,
  type MemoryStore,
  type MemoryStores,
  type OverQuota,
  type Quotas,
  type Renamed,
  type StoreOptions,
} from '../memory/store.ts';
import type { Change } from '../memory/text.ts';
import type { Database } from '../postgres/database.ts';
import type { Query, QueryResult, Value } from '../postgres/query.ts';
import { retrying } from '../postgres/retry.ts';
import { lockTenantQuery } from '../tenants/queries.ts';
import { AccessTimes, accessedBefore } from './access-times.ts';
import { type FileVersion, PendingFiles } from './pending-files.ts';
import { type FileRow, type LookupRow, lookupFileQuery, lookupQuery, readFileQuery } from './read-queries.ts';
import {
  type CallFunction,
  type CommonOutcome,
  callOn,
  createFunction,
  deleteFunction,
  type RequestParams,
  recordFailureFunction,
  renameFunction,
  type TypedWriteFunction,
  writeFileFunction,
} from './write-functions.ts';
import { WriteQueue } from './write-queue.ts';

/** How often an edit is tried before it locks out the tenant's other writers, after which it cannot lose a race. */
const OPTIMISTIC_ATTEMPTS = 3;

/** What the memory of all tenants shares. */
interface Shared {
  database: Database;
  quotas: Quotas;
  /** For how many days superseded versions are kept, in tenants without a setting of their own. */
  historyDays: number;
  writes: WriteQueue;
  pending: PendingFiles;
  accessTimes: AccessTimes;
  answers: AnswerLimit;
}

/** Settings that hold for all tenants. */
export interface MemoryOptions extends Quotas {
  /** Maximum number of writes that share a statement. */
  batchSize: number;
  /** Maximum number of stored answers of a tenant; 0: no limit. */
  maxAnswers: number;
  /** How long superseded versions are kept; 0 keeps none. */
  historyDays: number;
}

/** The memory of all tenants in one database. Throws `DatabaseError`. */
export class PostgresMemory implements MemoryStores {
  readonly #shared: Shared;

  constructor(database: Database, { batchSize, maxAnswers, historyDays, ...quotas }: MemoryOptions) {
    const writes = new WriteQueue({ batched: database.queryBatch, single: database.query }, batchSize);
    this.#shared = {
      ...{ database, quotas, historyDays, writes },
      pending: new PendingFiles(),
      accessTimes: new AccessTimes(database, writes),
      answers: new AnswerLimit(database, maxAnswers),
    };
  }

  forTenant(tenant: string, options: StoreOptions): MemoryStore {
    return new TenantMemory({ tenant, ...options, ...this.#shared });
  }

  /** Writes what is still to be written in the background. Call it when no more requests come. */
  async close(): Promise<void> {
    await Promise.all([this.#shared.accessTimes.close(), this.#shared.answers.close()]);
  }
}

class TenantMemory implements MemoryStore {
  readonly #context: Shared & StoreOptions & { tenant: string };
  #hasTried = false;

  constructor(context: Shared & StoreOptions & { tenant: string }) {
    this.#context = context;
  }

  async lookup(path: MemoryPath, maxEntries: number): Promise<LookupResult> {
    const { tenant } = this.#context;
    if (isNamedLikeFile(path)) {
      const params = { tenant, path, accessedBefore: accessedBefore() };
      const [entry] = (await this.#read(lookupFileQuery, params)).rows;
      if (!entry?.kind) return { kind: 'missing' };
      if (entry.kind === 'file') return this.#file(path, entry);
      // A directory after all: it is looked at again with what is below it, so that both are as at one moment.
    }
    const params = { tenant, path, maxEntries, accessedBefore: accessedBefore() };
    const [entry] = (await this.#read(lookupQuery, params)).rows;
    if (!entry?.kind) {
      return path === ROOT ? { kind: 'dir', entries: [], total: 0 } : { kind: 'missing' };
    }
    if (entry.kind === 'file') return this.#file(path, entry);
    return { kind: 'dir', entries: entriesOf(entry), total: entry.total ?? 0 };
  }

  #file(path: MemoryPath, { content, stale }: Pick<LookupRow, 'content' | 'stale'>): LookupResult {
    const { tenant, accessTimes } = this.#context;
    if (stale) accessTimes.note(tenant, path);
    return { kind: 'file', content: content ?? '' };
  }

  create(path: MemoryPath, content: string, answer: MemoryResult): Promise<Created> {
    const { autoCreate, quotas } = this.#context;
    const { origin } = this.#history();
    const params = { path, content, version: randomUUID(), autoCreate, ...quotas, origin };
    return this.#write(createFunction, params, answer);
  }

  delete(path: MemoryPath, answer: MemoryResult) {
    return this.#write(deleteFunction, { path, ...this.#change() }, answer);
  }

  rename(from: MemoryPath, to: MemoryPath, answer: MemoryResult): Promise<Renamed> {
    const { maxFiles } = this.#context.quotas;
    const params = {
      from,
      to,
      maxPathBytes: MAX_PATH_BYTES,
      maxDepth: MAX_DEPTH,
      maxFiles,
      ...this.#change(),
    };
    return this.#write(renameFunction, params, answer);
  }

  async recordFailure(answer: MemoryResult): Promise<void> {
    // What failed before it came to the store fails again in the same way.
    if (this.#context.request && this.#hasTried) await this.#write(recordFailureFunction, {}, answer);
  }

  async edit(path: MemoryPath, change: (content: string) => Edit | Promise<Edit>): Promise<Edited> {
    this.#hasTried = true;
    for (let attempt = 0; attempt < OPTIMISTIC_ATTEMPTS; attempt++) {
      const edited = await this.#editOptimistically(path, change);
      if (edited !== undefined) return edited;
    }
    return this.#editExclusively(path, change);
  }

  /** Undefined when another write of the file came first. */
  async #editOptimistically(
    path: MemoryPath,
    change: (content: string) => Edit | Promise<Edit>,
  ): Promise<Edited | undefined> {
    const { tenant, pending } = this.#context;
    const attempt = await pending.inTurn(tenant, path, async () => {
      const base: FileVersion | undefined = pending.newest(tenant, path) ?? (await this.#readFile(path));
      if (base === undefined) return undefined;
      const edit = await change(base.content);
      if (edit.content === undefined) return { base, result: edit.result };
      // A write that leaves the content as it is makes no version.
      const version = edit.content === base.content ? base.version : randomUUID();
      const write = this.#writeFile(path, base, { ...edit, version });
      const isWritten = write.then(({ kind }) => kind === 'written');
      pending.add(tenant, path, { content: edit.content, version }, isWritten);
      return { base, result: edit.result, write };
    });
    if (attempt === undefined) return { kind: 'missing' };
    const { base, result, write } = attempt;
    if (write !== undefined) return editedBy(await write, result);
    // What was refused may never have been in the file.
    return (await (base.isWritten ?? true)) ? { kind: 'refused', result } : undefined;
  }

  /** With the tenant locked, nothing comes between the read and the write. */
  #editExclusively(path: MemoryPath, change: (content: string) => Edit | Promise<Edit>): Promise<Edited> {
    const { tenant, database, writes } = this.#context;
    const work = () =>
      database.transaction(async (query) => {
        await query(lockTenantQuery, { tenant });
        const base = (await query(readFileQuery, { tenant, path })).rows[0];
        if (base === undefined) return { kind: 'missing' } as const;
        const edit = await change(base.content);
        if (edit.content === undefined) return { kind: 'refused', result: edit.result } as const;
        const write = await this.#writeFile(path, base, { ...edit, version: randomUUID() }, callOn(query));
        const edited = editedBy(write, edit.result);
        if (edited === undefined) throw new Error('A file changed while its tenant was locked.');
        return edited;
      });
    return writes.exclusively(tenant, work);
  }

  #writeFile(
    path: MemoryPath,
    base: FileVersion,
    { content, start, end, version, result }: Change & { version: string; result: MemoryResult },
    call: CallFunction = this.#context.writes.call,
  ) {
    const removed = base.content.length - (content.length - (end - start));
    const params = {
      ...{ path, readVersion: base.version, version, ...this.#context.quotas },
      ...this.#history(),
      start: Buffer.byteLength(base.content.slice(0, start)),
      removed: Buffer.byteLength(base.content.slice(start, start + removed)),
      text: content.slice(start, end),
    };
    return this.#write(writeFileFunction, params, result, (fn, all) => call(fn, all, content.length));
  }

  async #readFile(path: MemoryPath): Promise<FileRow | undefined> {
    return (await this.#read(readFileQuery, { tenant: this.#context.tenant, path })).rows[0];
  }

  /** What a write says for the history. */
  #history() {
    const { historyDays, origin } = this.#context;
    return { historyDays, origin: storedOrigin(origin) };
  }

  #change() {
    return { change: randomUUID(), ...this.#history() };
  }

  #read<Params extends Record<string, Value>, Row>(
    statement: Query<Params, Row>,
    params: Params,
  ): Promise<QueryResult<Row>> {
    return retrying(true, () => this.#context.database.query(statement, params));
  }

  /**
   * Calls a write function and deals with what any write may come to.
   *
   * @throws IdempotentReplay when the request has an answer, ServiceError 422 when its key has the answer to another request
   */
  async #write<Params extends Record<string, Value>, Own extends { kind: string }>(
    fn: TypedWriteFunction<Params & RequestParams, Own | CommonOutcome>,
    own: Params,
    { content }: MemoryResult,
    call: CallFunction = this.#context.writes.call,
  ): Promise<Exclude<Own, CommonOutcome>> {
    const { tenant, request } = this.#context;
    this.#hasTried = true;
    const { keyHash, requestHash } = request ?? { keyHash: null, requestHash: null };
    const params = { ...own, tenant, keyHash, requestHash, answer: storedAnswer(content) };
    const isRepeatable = request !== undefined;
    const outcome = await retrying(isRepeatable, () => call(fn, params));
    switch (outcome.kind) {
      case 'replayed':
        throw new IdempotentReplay(outcome as MemoryResult);
      case 'key_reused':
        throw new ServiceError('idempotency_key_reused');
      case 'unknown_tenant':
        throw new ServiceError('unknown_tenant', tenant);
    }
    if (isRepeatable) this.#context.answers.note(tenant);
    return outcome as Exclude<Own, CommonOutcome>;
  }
}

/** Undefined when another write of the file came first. */
function editedBy(
  write: { kind: 'written' | 'missing' | 'conflict' } | OverQuota,
  result: MemoryResult,
): Edited | undefined {
  switch (write.kind) {
    case 'written':
      return { kind: 'edited', result };
    case 'conflict':
      return undefined;
    case 'missing':
      return { kind: 'missing' };
    case 'over_quota':
      return write;
  }
}

function entriesOf({ entries }: LookupRow): ListedEntry[] {
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

/** A guess, by the extension, that costs a directory called so one more statement. */
function isNamedLikeFile(path: MemoryPath): boolean {
  return path.lastIndexOf('.') > path.lastIndexOf('/');
}
