import type { Database } from '../database/database.ts';
import { retrying } from '../database/errors.ts';
import type { Query, QueryExecutor, QueryResult, Value } from '../database/query.ts';
import { ServiceError } from '../errors/errors.ts';
import { storedOrigin } from '../memory/origin.ts';
import type { MemoryResult } from '../memory/result.ts';
import { IdempotentReplay, type StoreOptions, type TenantDefaults } from '../memory/store.ts';
import { lockTenantQuery, NO_TENANT } from '../tenants/queries.ts';
import { type StoredResultLimit, storedResult } from '../tenants/stored-results.ts';
import type { AccessTimes } from './access-times.ts';
import type { PendingFiles } from './pending-files.ts';
import type { OfTenant } from './read-queries.ts';
import { type CommonOutcome, callOn, type RequestParams, type TypedWriteFunction } from './write-function.ts';
import type { WriteQueue } from './write-queue.ts';

/** State that all tenants share. */
export interface Shared {
  database: Database;
  defaults: TenantDefaults;
  writes: WriteQueue;
  pending: PendingFiles;
  accessTimes: AccessTimes;
  storedResults: StoredResultLimit;
}

/** How one call of the tool reads and writes the memory of its tenant. */
export class TenantDatabase {
  readonly context: Shared & StoreOptions & { tenant: string };
  /** Whether the call has tried to change anything. */
  writeAttempted = false;

  constructor(context: Shared & StoreOptions & { tenant: string }) {
    this.context = context;
  }

  /** What the history says of a change. */
  get origin(): string {
    return storedOrigin(this.context.origin);
  }

  read<Params extends Record<string, Value>, Row>(
    statement: Query<Params, Row>,
    params: Params,
  ): Promise<QueryResult<Row>> {
    return retrying(true, () => this.context.database.query(statement, params));
  }

  /**
   * Reads by a statement that says when the tenant was created.
   *
   * @throws ServiceError when that is not the tenant that the call is for
   */
  async readOfTenant<Params extends Record<string, Value>, Row extends OfTenant>(
    statement: Query<Params, Row>,
    params: Params,
  ): Promise<QueryResult<Row>> {
    const result = await this.read(statement, params);
    this.checkTenant(result);
    return result;
  }

  /** @throws ServiceError when a row is not of the tenant that the call is for */
  checkTenant({ rows: [row] }: Pick<QueryResult<OfTenant>, 'rows'>): void {
    const { tenant, createdAt = null } = this.context;
    if (createdAt !== null && (row?.tenantCreatedAt ?? NO_TENANT) !== createdAt)
      throw new ServiceError('tenant_replaced', tenant);
  }

  /** Runs work that reads before it writes, with the tenant locked: nothing comes in between. A retry repeats all of it. */
  inTransaction<T>(work: (query: QueryExecutor) => Promise<T>): Promise<T> {
    const { tenant, database, writes } = this.context;
    const locked = async (query: QueryExecutor) => {
      await query(lockTenantQuery, { tenant });
      return work(query);
    };
    return retrying(this.#isRepeatable, () => writes.exclusively(tenant, () => database.transaction(locked)));
  }

  /**
   * Calls a write function and handles the outcomes that every write has in common.
   *
   * @param options.size characters that the database handles for the call, if more than its parameters
   * @param options.transaction whose statement the call is (`inTransaction`); otherwise it is a statement of its own, which is retried
   * @throws IdempotentReplay when the request has a stored result, ServiceError 422 when its key has that of another request
   */
  async write<Params extends Record<string, Value>, Own extends { kind: string }>(
    fn: TypedWriteFunction<Params & RequestParams, Own | CommonOutcome>,
    own: Params,
    { content }: MemoryResult,
    { size, transaction }: { size?: number; transaction?: QueryExecutor | undefined } = {},
  ): Promise<Exclude<Own, CommonOutcome>> {
    const { tenant, countedAs = tenant, request, writes } = this.context;
    this.writeAttempted = true;
    const { keyHash, requestHash } = request ?? { keyHash: null, requestHash: null };
    const { createdAt = null } = this.context;
    const params = { ...own, tenant, keyHash, requestHash, result: storedResult(content), createdAt };
    const outcome = transaction
      ? await callOn(transaction)(fn, params)
      : await retrying(this.#isRepeatable, () => writes.call(fn, params, size));
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
    if (request !== undefined) this.context.storedResults.note(countedAs);
    return outcome as Exclude<Own, CommonOutcome>;
  }

  /** With an idempotency key, a write applies once, however often it is sent. */
  get #isRepeatable(): boolean {
    return this.context.request !== undefined;
  }
}
