import { randomUUID } from 'node:crypto';
import { runWithRetries } from '../database/database-errors.ts';
import type { Query, QueryExecutor, Value } from '../database/query.ts';
import { ServiceError } from '../errors/errors.ts';
import {
  type Created,
  type Deleted,
  type Edit,
  type Edited,
  IdempotentReplay,
  type ListedEntry,
  type Listing,
  type LookupResult,
  type MemoryStore,
  type OverQuota,
  type Renamed,
  type RequestKey,
} from '../memory/memory-store.ts';
import { type Origin, storedOrigin } from '../memory/origin.ts';
import { MAX_DEPTH, MAX_PATH_BYTES, type MemoryPath, ROOT } from '../memory/path.ts';
import type { MemoryResult } from '../memory/result.ts';
import { hidesPaths, isReadable, type Rights, shownParams, shownWithin } from '../memory/rights.ts';
import type { Change } from '../memory/text-changes.ts';
import { lockTenantQuery, NO_TENANT, tenantCreatedAtQuery } from '../tenants/queries.ts';
import { storedResult } from '../tenants/stored-results.ts';
import { lookupWithDraft } from './mounts/draft-listing.ts';
import { lookupWithMounts, type MountedDirectory } from './mounts/root-listing.ts';
import { type FileVersion, fileKey } from './pending-files.ts';
import {
  type FileRow,
  findRecordQuery,
  type LookupRow,
  listRootQuery,
  listShownRootQuery,
  lookupFileQuery,
  lookupQuery,
  lookupShownQuery,
  type OfTenant,
  readFileQuery,
} from './read-queries.ts';
import type { Services } from './services.ts';
import { type CommonOutcome, callOn, type RequestParams, type TypedWriteFunction } from './write-function.ts';
import {
  createFunction,
  deleteFunction,
  recordFailureFunction,
  renameFunction,
  writeFileFunction,
} from './write-functions.ts';

/**
 * Number of optimistic attempts for an edit. The next attempt locks the tenant, so that no concurrent write can
 * interfere.
 */
const OPTIMISTIC_ATTEMPTS = 3;

/** Options for a memory that is opened for one call. */
export interface MemoryOptions {
  /** Whether the first file creates the tenant. */
  autoCreate: boolean;
  /** Origin recorded in the history. */
  origin: Origin;
  /** Idempotency key and input for the write. */
  request?: RequestKey | undefined;
  /**
   * Creation time of the caller's tenant, or `NO_TENANT`; null for any tenant with the ID. If the tenant was deleted
   * since, the call fails with `tenant_replaced`, even if a new tenant has the same ID.
   */
  createdAt?: string | null | undefined;
  /** Tenant whose limit on stored results applies; by default the tenant itself. */
  countedAs?: string | undefined;
  /** Directory at which the caller mounts this memory. */
  mountedAt?: MemoryPath | undefined;
  /** Reserves the call's idempotency key in the caller's memory. Called before the first write to a mounted memory. */
  reserveKey?: (() => Promise<void>) | undefined;
  /** The caller's rights, for paths in this memory. */
  rights?: Rights | undefined;
  /** Mounts that a view of the root shows as directories. */
  mounts?: readonly MountedDirectory[] | undefined;
  /** The caller's draft, whose files views show too. Its rights and the rights in this memory exclude each other. */
  draft?: Memory | undefined;
}

/**
 * A tenant's memory, opened for one call. All paths, including paths in outcomes, are as the caller sees them. Throws
 * `DatabaseError`.
 */
export class Memory implements MemoryStore {
  readonly services: Services;
  /** A valid tenant ID. */
  readonly tenant: string;
  readonly #options: MemoryOptions;
  #hasTriedToWrite = false;
  #reserving: Promise<void> | undefined;

  constructor(services: Services, tenant: string, options: MemoryOptions) {
    this.services = services;
    this.tenant = tenant;
    this.#options = options;
  }

  /** Whether the caller's tenant mounts this memory. */
  get isMounted(): boolean {
    return this.#options.mountedAt !== undefined;
  }

  /** The caller's rights, for paths in this memory. */
  get rights(): Rights | undefined {
    return this.#options.rights;
  }

  /** Returns a file's ID; undefined if there is no file at the path. */
  async recordId(path: MemoryPath): Promise<string | undefined> {
    const params = { tenant: this.tenant, path: this.#toInnerPath(path) };
    const { rows } = await this.services.database.query(findRecordQuery, params);
    return rows[0]?.memoryId ?? undefined;
  }

  /** Stored form of a change's origin. */
  get origin(): string {
    return storedOrigin(this.#options.origin);
  }

  async lookup(path: MemoryPath, maxEntries: number): Promise<LookupResult> {
    const { tenant } = this;
    const { mounts, draft } = this.#options;
    if (mounts !== undefined && path === ROOT) {
      const own = new Memory(this.services, tenant, { ...this.#options, mounts: undefined });
      return lookupWithMounts(own, mounts, maxEntries);
    }
    if (draft !== undefined) {
      const own = new Memory(this.services, tenant, { ...this.#options, draft: undefined });
      return lookupWithDraft(own, draft, path, maxEntries);
    }
    const inner = this.#toInnerPath(path);
    const { rights } = this.#options;
    const shown = rights === undefined ? 'all' : shownWithin(rights, inner);
    if (shown === 'none') return inner === ROOT ? EMPTY_ROOT : { kind: 'missing' };
    if (shown === 'all' && isNamedLikeFile(path)) {
      const entry = await this.#read(lookupFileQuery, { tenant, path: inner });
      if (!entry?.kind) return { kind: 'missing' };
      if (entry.kind === 'file') return this.#file(inner, entry);
      // The path is a directory. Look it up again with its listing, so that both are from the same snapshot.
    }
    const params = { tenant, path: inner, maxEntries };
    const entry =
      shown === 'all'
        ? await this.#read(lookupQuery, params)
        : await this.#read(lookupShownQuery, { ...params, ...shownParams(rights) });
    if (!entry?.kind) return inner === ROOT ? EMPTY_ROOT : { kind: 'missing' };
    if (entry.kind === 'file') return this.#file(inner, entry);
    return { kind: 'dir', entries: this.#entries(entry), total: entry.total ?? 0 };
  }

  async rootEntries(maxEntries: number): Promise<Listing> {
    const { tenant } = this;
    // Long listings for one caller's mounts run one at a time, because a tenant may have many mounts, which could
    // occupy all connections.
    const turn = this.#options.origin.viaTenant ?? tenant;
    const { rights } = this.#options;
    const params = { tenant, maxEntries, turn };
    const row = hidesPaths(rights)
      ? await this.#read(listShownRootQuery, { ...params, ...shownParams(rights) })
      : await this.#read(listRootQuery, params);
    return { entries: row === undefined ? [] : this.#entries(row), total: row?.total ?? 0 };
  }

  #file(path: MemoryPath, { content, stale }: Pick<LookupRow, 'content' | 'stale'>): LookupResult {
    this.noteRead(path, stale);
    return { kind: 'file', content: content ?? '' };
  }

  /**
   * Records that the caller receives a file's content.
   *
   * @param path path in this memory
   * @param stale whether the file's access time should be updated
   */
  noteRead(path: string, stale: boolean | null): void {
    const { accessTimes, readTrail } = this.services;
    if (stale) accessTimes.note(this.tenant, path);
    readTrail?.note(this.tenant, path, this.#options.origin);
  }

  #entries({ entries }: Pick<LookupRow, 'entries'>): ListedEntry[] {
    if (entries === null) return [];
    return entries.split('\n').map((line) => {
      const tab = line.indexOf('\t');
      const path = this.#toOuterPath((tab === -1 ? line : line.slice(0, tab)) as MemoryPath);
      return tab === -1
        ? { path, kind: 'dir', bytes: 0 }
        : { path, kind: 'file', bytes: Number(line.slice(tab + 1)) };
    });
  }

  create(path: MemoryPath, content: string, result: MemoryResult): Promise<Created> {
    const { autoCreate, mountedAt } = this.#options;
    if (path === mountedAt) return Promise.resolve({ kind: 'exists' });
    const { origin } = this;
    const file = { path: this.#toInnerPath(path), content, version: randomUUID() };
    return this.write(createFunction, { ...file, autoCreate, origin, ...this.services.defaults }, result);
  }

  delete(path: MemoryPath, result: MemoryResult): Promise<Deleted> {
    return this.write(deleteFunction, this.#deletion(path), result);
  }

  /**
   * Deletes a file if its content is as expected. The lock on the tenant prevents changes between the read and the
   * deletion.
   */
  async deleteIf(path: MemoryPath, isExpected: (content: string) => boolean, result: MemoryResult) {
    await this.#reserveKey();
    return this.inTransaction(async (query): Promise<Deleted | { kind: 'changed' }> => {
      const file = toFileVersion(
        (await query(readFileQuery, { tenant: this.tenant, path: this.#toInnerPath(path) })).rows[0],
      );
      if (file === undefined) return { kind: 'missing' };
      if (!isExpected(file.content)) return { kind: 'changed' };
      return this.write(deleteFunction, this.#deletion(path), result, { transaction: query });
    });
  }

  #deletion(path: MemoryPath) {
    const { origin } = this;
    return { path: this.#toInnerPath(path), change: randomUUID(), origin, ...this.services.defaults };
  }

  rename(from: MemoryPath, to: MemoryPath, result: MemoryResult): Promise<Renamed> {
    const { origin } = this;
    const limits = { ...pathLimits(this.#options.mountedAt ?? ROOT), ...this.services.defaults };
    const paths = { from: this.#toInnerPath(from), to: this.#toInnerPath(to) };
    return this.write(renameFunction, { ...paths, change: randomUUID(), origin, ...limits }, result);
  }

  async reserveKey(result: MemoryResult): Promise<void> {
    if (this.#options.request) await this.write(recordFailureFunction, {}, result);
  }

  async recordFailure(result: MemoryResult): Promise<void> {
    // A command that failed before any write fails again in the same way, so its result is not stored.
    if (this.#options.request && this.#hasTriedToWrite) await this.write(recordFailureFunction, {}, result);
  }

  /** Reads a file, changes its content, and writes it without losing a concurrent edit. */
  async edit<R>(
    path: MemoryPath,
    change: (content: string) => Edit<R> | Promise<Edit<R>>,
  ): Promise<Edited<R>> {
    if (this.#options.reserveKey) await this.#reserveKey();
    this.#hasTriedToWrite = true;
    const { tenant } = this;
    const { pending } = this.services;
    const inner = this.#toInnerPath(path);
    const file = fileKey(tenant, inner);
    for (let attempt = 0; attempt < OPTIMISTIC_ATTEMPTS; attempt++) {
      const tried = await pending.turns.run(file, async () => {
        const base: FileVersion | undefined =
          pending.newest(file) ?? toFileVersion(await this.#read(readFileQuery, { tenant, path: inner }));
        if (base === undefined) return undefined;
        const edit = await change(base.content);
        if ('rejection' in edit) return { base, rejection: edit.rejection };
        // A write that keeps the content creates no version.
        const version = edit.content === base.content ? base.version : randomUUID();
        const params = this.#splice(inner, base, edit, version);
        const write = this.write(writeFileFunction, params, edit.result, { size: edit.content.length });
        const isWritten = write.then(({ kind }) => kind === 'written');
        pending.add(file, { content: edit.content, version }, isWritten);
        return { base, edit, write };
      });
      if (tried === undefined) return { kind: 'missing' };
      const { base } = tried;
      if ('rejection' in tried) {
        // The rejected content may be a pending write that failed.
        if (await (base.isWritten ?? true)) return { kind: 'rejected', rejection: tried.rejection };
        continue;
      }
      const edited = editedBy(await tried.write, base, tried.edit);
      if (edited !== undefined) return edited;
    }
    return this.#editExclusively(inner, change);
  }

  /** Edits a file while the tenant is locked, so that no other write can interfere. */
  #editExclusively<R>(
    inner: MemoryPath,
    change: (content: string) => Edit<R> | Promise<Edit<R>>,
  ): Promise<Edited<R>> {
    return this.inTransaction(async (query) => {
      const base = toFileVersion((await query(readFileQuery, { tenant: this.tenant, path: inner })).rows[0]);
      if (base === undefined) return { kind: 'missing' } as const;
      const edit = await change(base.content);
      if ('rejection' in edit) return { kind: 'rejected', rejection: edit.rejection } as const;
      const params = this.#splice(inner, base, edit, randomUUID());
      const options = { size: edit.content.length, transaction: query };
      const edited = editedBy(await this.write(writeFileFunction, params, edit.result, options), base, edit);
      if (edited === undefined) throw new Error('A file changed while its tenant was locked.');
      return edited;
    });
  }

  /** Returns the parameters for writing only the changed part of a content. */
  #splice(path: MemoryPath, base: FileVersion, change: Change, version: string) {
    const { start, removed, text } = difference(base.content, change);
    return {
      path,
      readVersion: base.version,
      version,
      text,
      origin: this.origin,
      ...this.services.defaults,
      start: Buffer.byteLength(base.content.slice(0, start)),
      removed: Buffer.byteLength(base.content.slice(start, start + removed)),
    };
  }

  /** Runs a query for one row. @throws ServiceError when the tenant was replaced */
  async #read<Params extends Record<string, Value>, Row extends OfTenant>(
    query: Query<Params, Row>,
    params: Params,
  ): Promise<Row | undefined> {
    const { tenant } = this;
    const { database } = this.services;
    const [row] = (await runWithRetries(true, () => database.query(query, params))).rows;
    if (row?.tenantCreatedAt) {
      this.#checkTenant(row.tenantCreatedAt);
    } else if (this.#options.createdAt) {
      // A memory without entries has no root.
      const [found] = (await runWithRetries(true, () => database.query(tenantCreatedAtQuery, { tenant })))
        .rows;
      this.#checkTenant(found?.createdAt);
    }
    return row;
  }

  /** @throws ServiceError when the tenant was replaced */
  #checkTenant(found = NO_TENANT): void {
    const { createdAt = null } = this.#options;
    if (createdAt !== null && found !== createdAt) throw new ServiceError('tenant_replaced', this.tenant);
  }

  /** Runs work that reads before it writes, in a transaction that locks the tenant. A retry repeats all the work. */
  inTransaction<T>(work: (query: QueryExecutor) => Promise<T>): Promise<T> {
    const { tenant } = this;
    const { database, writes } = this.services;
    const runLocked = async (query: QueryExecutor) => {
      const [found] = (await query(lockTenantQuery, { tenant })).rows;
      this.#checkTenant(found?.createdAt);
      return work(query);
    };
    return runWithRetries(this.#isRepeatable, () =>
      writes.runExclusively(tenant, () => database.transaction(runLocked)),
    );
  }

  /**
   * Calls a write function and handles the outcomes that all writes share.
   *
   * @param options.size number of characters that the database processes for the call, if more than its parameters
   * @param options.transaction transaction for the call; without one, the call is a separate statement with retries
   * @throws IdempotentReplay when the request has a stored result
   * @throws ServiceError 422 when the idempotency key belongs to another request
   */
  async write<Params extends Record<string, Value>, Own extends { kind: string }>(
    fn: TypedWriteFunction<Params & RequestParams, Own | CommonOutcome>,
    own: Params,
    { content }: MemoryResult,
    { size, transaction }: { size?: number; transaction?: QueryExecutor | undefined } = {},
  ): Promise<Exclude<Own, CommonOutcome>> {
    const { tenant } = this;
    const { writes, storedResults } = this.services;
    const { countedAs = tenant, request, createdAt = null } = this.#options;
    if (this.#options.reserveKey) await this.#reserveKey();
    this.#hasTriedToWrite = true;
    const { keyHash, requestHash } = request ?? { keyHash: null, requestHash: null };
    const params = { ...own, tenant, keyHash, requestHash, result: storedResult(content), createdAt };
    const outcome = transaction
      ? await callOn(transaction)(fn, params)
      : await runWithRetries(this.#isRepeatable, () => writes.call(fn, params, size));
    switch (outcome.kind) {
      case 'replayed':
        throw new IdempotentReplay(outcome as MemoryResult);
      case 'key_reused':
        throw new ServiceError('idempotency_key_reused');
      case 'unknown_tenant':
        throw new ServiceError('unknown_tenant', tenant);
      case 'replaced':
        throw new ServiceError('tenant_replaced', tenant);
      case 'archived':
        throw new ServiceError('tenant_archived', tenant);
    }
    if (request !== undefined) storedResults.note(countedAs);
    return this.#asSeen(outcome as Exclude<Own, CommonOutcome>, own.path ?? own.to);
  }

  /**
   * Returns an outcome with the caller's paths, and without the path and the size of files that the caller must not read.
   *
   * @param given the path of the write in this memory, which replaces a hidden path
   */
  #asSeen<Own extends { kind: string }>(outcome: Own, given: Value | undefined): Own {
    const { mountedAt, rights } = this.#options;
    if (outcome.kind === 'over_quota' && hidesPaths(rights)) return { ...outcome, hidesUsed: true };
    if (!('path' in outcome)) return outcome;
    const found = outcome.path as MemoryPath;
    const isHidden = outcome.kind === 'not_a_directory' && rights && !isReadable(rights, found);
    if (mountedAt === undefined && !isHidden) return outcome;
    return { ...outcome, path: this.#toOuterPath(isHidden ? (given as MemoryPath) : found) };
  }

  /** Whether a repeated write applies only once, because it has an idempotency key. */
  get #isRepeatable(): boolean {
    return this.#options.request !== undefined;
  }

  #reserveKey(): Promise<void> | undefined {
    this.#reserving ??= this.#options.reserveKey?.();
    return this.#reserving;
  }

  /** Returns the path in this memory for a caller's path. */
  #toInnerPath(path: MemoryPath): MemoryPath {
    const { mountedAt } = this.#options;
    return mountedAt === undefined ? path : innerPath(path, mountedAt);
  }

  #toOuterPath(path: MemoryPath): MemoryPath {
    const { mountedAt } = this.#options;
    return mountedAt === undefined ? path : outerPath(path, mountedAt);
  }
}

const EMPTY_ROOT: LookupResult = { kind: 'dir', entries: [], total: 0 };

/** Returns the path in a mounted memory for a caller's path. */
export function innerPath(path: MemoryPath, mountedAt: MemoryPath): MemoryPath {
  return (ROOT + path.slice(mountedAt.length)) as MemoryPath;
}

/** Returns the caller's path for a path in a mounted memory. */
export function outerPath<Path extends string>(path: Path, mountedAt: MemoryPath): Path {
  return (mountedAt + path.slice(ROOT.length)) as Path;
}

/** Returns the maximum path length and depth in a memory mounted at a directory. */
function pathLimits(mountedAt: MemoryPath): { maxPathBytes: number; maxDepth: number } {
  const prefix = mountedAt.slice(ROOT.length);
  return {
    maxPathBytes: MAX_PATH_BYTES - Buffer.byteLength(prefix),
    maxDepth: MAX_DEPTH - (prefix.split('/').length - 1),
  };
}

/** Whether a path is probably a file, by its extension. A wrong guess costs one more statement. */
function isNamedLikeFile(path: MemoryPath): boolean {
  return path.lastIndexOf('.') > path.lastIndexOf('/');
}

/**
 * Returns the shortest range in `before` that a change replaces, with its replacement. Offsets are in UTF-16 units and
 * never split a character.
 */
function difference(before: string, { content, start: first, end: afterLast }: Change) {
  let [start, end] = [first, afterLast];
  let endBefore = before.length - (content.length - end);
  while (start < end && start < endBefore && before[start] === content[start]) start++;
  while (end > start && endBefore > start && before[endBefore - 1] === content[end - 1]) {
    end--;
    endBefore--;
  }
  if (start > first && isHighSurrogate(content, start - 1)) start--;
  if (end < afterLast && isHighSurrogate(content, end - 1)) {
    end++;
    endBefore++;
  }
  return { start, removed: endBefore - start, text: content.slice(start, end) };
}

function isHighSurrogate(text: string, index: number): boolean {
  const unit = text.charCodeAt(index);
  return unit >= 0xd800 && unit <= 0xdbff;
}

function toFileVersion(row: FileRow | undefined): FileVersion | undefined {
  const { content = null, version = null } = row ?? {};
  return content === null || version === null ? undefined : { content, version };
}

/** Returns the outcome of an edit; undefined if another write to the file came first. */
function editedBy(
  write: { kind: 'written' | 'missing' | 'conflict' } | OverQuota,
  { content: before }: { content: string },
  { content, result }: Change & { result: MemoryResult },
): Edited<never> | undefined {
  switch (write.kind) {
    case 'written':
      return { kind: 'edited', result, before, content };
    case 'conflict':
      return undefined;
    case 'missing':
      return { kind: 'missing' };
    case 'over_quota':
      return write;
  }
}
