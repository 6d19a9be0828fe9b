import type { MemoryPath } from '../memory/path.ts';
import type { MemoryResult } from '../memory/result.ts';
import type { Created, OverQuota, Quotas, Renamed } from '../memory/store.ts';
import { defineQuery, type Query, type QueryExecutor, type Scalar, type Value } from '../postgres/query.ts';

/*
 * The database functions that change memory, one for each writing command (migrations/functions). They hold every rule of the
 * tree, the quota and idempotency, and answer what came of a call. Each is called by one statement, for one call or for many.
 */

/** What any write may come to. `skipped` never leaves the write queue. */
export type CommonOutcome =
  | { kind: 'skipped' | 'key_reused' | 'unknown_tenant' }
  | ({ kind: 'replayed' } & MemoryResult);

/** What each write says beside its own parameters. The key is null when the request has none. */
export type RequestParams = {
  tenant: string;
  keyHash: string | null;
  requestHash: string | null;
  /** Stored as the answer under the key when the write succeeds. */
  answer: string;
};

/** Who makes a change, and on what request: `storedOrigin`. */
type OriginParams = { origin: string };

/** For how many days versions that are superseded are kept, unless the tenant has a setting of its own; 0: they are not. */
type HistoryParams = { historyDays: number } & OriginParams;

/** `change` is a new id, for a change that may be of many files. */
type ChangeParams = { change: string } & HistoryParams;

/** `item` is the number of the call, from 1. */
type OutcomeRow = { item: number; outcome: string; data: Record<string, unknown> | null };

export interface WriteFunction {
  readonly name: string;
  readonly parameters: readonly string[];
  /** Takes an array for each parameter, and whether to wait for a tenant that another session has locked. */
  readonly statement: Query<Record<string, Value>, OutcomeRow>;
  /** Whether calls of several tenants may share a statement. A call that can take long holds up no other tenant. */
  readonly mixesTenants: boolean;
}

/** A write function with the types of its parameters and outcomes. */
export interface TypedWriteFunction<Params, Outcome> extends WriteFunction {
  readonly types?: { params: Params; outcome: Outcome };
}

/**
 * Calls a write function once. Rejects with what the driver throws.
 *
 * @param size in characters, of what the call makes the database handle, where that is more than its parameters
 */
export type CallFunction = <Params extends RequestParams, Outcome extends { kind: string }>(
  fn: TypedWriteFunction<Params, Outcome>,
  params: Params,
  size?: number,
) => Promise<Exclude<Outcome, { kind: 'skipped' }>>;

/**
 * Calls a write function many times in one statement.
 *
 * @param wait for a tenant that another session has locked; otherwise its calls are `skipped`
 * @returns the outcomes in the order of the calls
 */
export async function callAll(
  query: QueryExecutor,
  fn: WriteFunction,
  calls: readonly Record<string, Value>[],
  { wait }: { wait: boolean },
): Promise<{ kind: string }[]> {
  const params: Record<string, Value> = { wait };
  for (const name of fn.parameters) params[name] = calls.map((call) => (call[name] ?? null) as Scalar);
  const { rows } = await query(fn.statement, params);
  const outcomes: { kind: string }[] = [];
  for (const { item, outcome, data } of rows) outcomes[item - 1] = { kind: outcome, ...data };
  return outcomes;
}

/** Calls write functions on a session, in its transaction. */
export function callOn(query: QueryExecutor): CallFunction {
  return async (fn, params) => (await callAll(query, fn, [params], { wait: true }))[0] as never;
}

/** Types whose values are strings here. */
const AS_TEXT: ReadonlySet<string> = new Set(['uuid', 'jsonb']);

/**
 * Declares a function. Its calls are made in the order of the arrays, and each sees what the ones before it changed.
 *
 * @param types of the function's own parameters, in its order; those of `RequestParams` follow, as they do in SQL
 */
function writeFunction<Params extends Record<string, Value>, Outcome extends { kind: string }>(
  name: string,
  types: { [name in keyof Params & string]: string },
  { mixesTenants }: { mixesTenants: boolean },
): TypedWriteFunction<Params & RequestParams, Outcome | CommonOutcome> {
  const all = { tenant: 'text', ...types, keyHash: 'text', requestHash: 'text', answer: 'text' };
  const names = Object.keys(all);
  // Strings go as `text`, whatever the function wants: see `runnerOn` in postgres.ts.
  const arrays = Object.values(all).map((type, i) =>
    AS_TEXT.has(type) ? `$${i + 1}::text[]::${type}[]` : `$${i + 1}::${type}[]`,
  );
  const columns = names.map((_, i) => `p${i + 1}`);
  const text = `
SELECT c.item::integer, f.outcome, f.data
FROM unnest(${arrays.join(', ')}) WITH ORDINALITY AS c (${columns.join(', ')}, item),
  LATERAL ${name}(${columns.map((column) => `c.${column}`).join(', ')}, $${names.length + 1}::boolean) AS f`;
  return {
    name,
    parameters: names,
    statement: defineQuery<Record<string, Value>, OutcomeRow>(name, [...names, 'wait'], text),
    mixesTenants,
  };
}

export const createFunction = writeFunction<
  { path: MemoryPath; content: string; version: string; autoCreate: boolean } & Quotas & OriginParams,
  Created
>(
  'memory_create',
  {
    ...{ path: 'text', content: 'text', version: 'uuid', autoCreate: 'boolean' },
    ...{ maxFiles: 'bigint', maxBytes: 'bigint', origin: 'jsonb' },
  },
  { mixesTenants: true },
);

/** `conflict`: the file is not at the version that was read. */
export const writeFileFunction = writeFunction<
  {
    path: MemoryPath;
    readVersion: string;
    start: number;
    removed: number;
    text: string;
    version: string;
  } & Quotas &
    HistoryParams,
  { kind: 'written' | 'missing' | 'conflict' } | OverQuota
>(
  'memory_write',
  {
    ...{
      path: 'text',
      readVersion: 'uuid',
      start: 'integer',
      removed: 'integer',
      text: 'text',
      version: 'uuid',
    },
    ...{ maxFiles: 'bigint', maxBytes: 'bigint', historyDays: 'bigint', origin: 'jsonb' },
  },
  { mixesTenants: true },
);

export const deleteFunction = writeFunction<
  { path: MemoryPath } & ChangeParams,
  { kind: 'deleted' | 'missing' }
>(
  'memory_delete',
  { path: 'text', change: 'uuid', historyDays: 'bigint', origin: 'jsonb' },
  { mixesTenants: false },
);

export const renameFunction = writeFunction<
  {
    from: MemoryPath;
    to: MemoryPath;
    maxPathBytes: number;
    maxDepth: number;
    maxFiles: number;
  } & ChangeParams,
  Renamed
>(
  'memory_rename',
  {
    ...{ from: 'text', to: 'text', maxPathBytes: 'integer', maxDepth: 'integer', maxFiles: 'bigint' },
    ...{ change: 'uuid', historyDays: 'bigint', origin: 'jsonb' },
  },
  { mixesTenants: false },
);

/** Stores the answer of a write that failed under its key. */
export const recordFailureFunction = writeFunction<Record<never, never>, { kind: 'recorded' }>(
  'memory_record_failure',
  {},
  { mixesTenants: true },
);
