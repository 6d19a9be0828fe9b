import type { MemoryPath } from '../memory/path.ts';
import type { MemoryResult } from '../memory/result.ts';
import type { Created, OverQuota, Quotas, Renamed } from '../memory/store.ts';
import {
  defineQuery,
  type Query,
  type QueryExecutor,
  type Scalar,
  type TracedRequest,
  type Value,
} from '../postgres/query.ts';

/*
 * The database functions that change memory, one for each writing command (migrations/functions). They enforce the rules of the tree,
 * quotas, and idempotency, and return the outcome of each call. One statement calls a function once or many times.
 */

/** The outcomes that every write can have. `skipped` never leaves the write queue. */
export type CommonOutcome =
  | { kind: 'skipped' | 'key_reused' | 'unknown_tenant' }
  | ({ kind: 'replayed' } & MemoryResult);

/** The parameters that all writes have in common. The key is null when the request has none. */
export type RequestParams = {
  tenant: string;
  keyHash: string | null;
  requestHash: string | null;
  /** Stored as the answer under the key when the write succeeds. */
  answer: string;
};

/** Who makes a change, in which request (`storedOrigin`). */
type OriginParams = { origin: string };

/** How many days superseded versions are kept (0: not at all), unless the tenant has its own setting. */
type HistoryParams = { historyDays: number } & OriginParams;

/** `change` is a new ID, for a change that can affect many files. */
type ChangeParams = { change: string } & HistoryParams;

/** `item` is the number of the call, from 1. */
type OutcomeRow = { item: number; outcome: string; data: Record<string, unknown> | null };

export interface WriteFunction {
  readonly name: string;
  readonly parameters: readonly string[];
  /** One call. Citus runs it on the node that has the tenant, which it does with no other form. */
  readonly single: Query<Record<string, Value>, OutcomeRow>;
  /** Many calls: an array for each parameter, and whether to wait for a tenant that another session has locked. */
  readonly batch: Query<Record<string, Value>, OutcomeRow>;
  /** Whether calls of several tenants may share a statement. Not for calls that can take long, so that they delay no other tenant. */
  readonly mixesTenants: boolean;
}

/** A write function with the types of its parameters and outcomes. */
export interface TypedWriteFunction<Params, Outcome> extends WriteFunction {
  readonly types?: { params: Params; outcome: Outcome };
}

/**
 * Calls a write function once. Rejects with the error of the driver.
 *
 * @param size characters that the database handles for the call, if more than its parameters
 */
export type CallFunction = <Params extends RequestParams, Outcome extends { kind: string }>(
  fn: TypedWriteFunction<Params, Outcome>,
  params: Params,
  size?: number,
) => Promise<Exclude<Outcome, { kind: 'skipped' }>>;

/**
 * Calls a write function once or many times in one statement.
 *
 * @param options.wait whether to wait for tenants that another session has locked; otherwise their calls are `skipped`
 * @param options.requests the traced requests that make the calls
 * @returns the outcomes in the order of the calls
 */
export async function callAll(
  query: QueryExecutor,
  fn: WriteFunction,
  calls: readonly Record<string, Value>[],
  { wait, requests }: { wait: boolean; requests?: readonly TracedRequest[] | undefined },
): Promise<{ kind: string }[]> {
  const { rows } = await (calls.length === 1
    ? query(fn.single, { ...calls[0], wait }, requests)
    : query(fn.batch, { ...asArrays(fn, calls), wait }, requests));
  const outcomes: { kind: string }[] = [];
  for (const { item, outcome, data } of rows) outcomes[item - 1] = { kind: outcome, ...data };
  return outcomes;
}

function asArrays(
  { parameters }: WriteFunction,
  calls: readonly Record<string, Value>[],
): Record<string, Value> {
  return Object.fromEntries(
    parameters.map((name) => [name, calls.map((call) => (call[name] ?? null) as Scalar)]),
  );
}

/** Calls write functions on a session, in its transaction. */
export function callOn(query: QueryExecutor): CallFunction {
  return async (fn, params) => (await callAll(query, fn, [params], { wait: true }))[0] as never;
}

/** SQL types whose values are strings in TypeScript. */
const AS_TEXT: ReadonlySet<string> = new Set(['uuid', 'jsonb']);

/**
 * Declares a function. Its calls run in the order of the arrays, and each sees the changes of those before it.
 *
 * @param types of the function's own parameters, in order; those of `RequestParams` follow, as in SQL
 */
function writeFunction<Params extends Record<string, Value>, Outcome extends { kind: string }>(
  name: string,
  types: { [name in keyof Params & string]: string },
  { mixesTenants }: { mixesTenants: boolean },
): TypedWriteFunction<Params & RequestParams, Outcome | CommonOutcome> {
  const all = { tenant: 'text', ...types, keyHash: 'text', requestHash: 'text', answer: 'text' };
  const names = Object.keys(all);
  const values = Object.values(all).map((type, i) =>
    AS_TEXT.has(type) ? `$${i + 1}::text::${type}` : `$${i + 1}::${type}`,
  );
  const wait = `$${names.length + 1}::boolean`;
  const single = `SELECT 1 AS item, f.outcome, f.data FROM ${name}(${values.join(', ')}, ${wait}) AS f`;
  // Strings are sent as `text`, whatever the type of the parameter (docs/decisions/0002-binary-arrays.md).
  const arrays = Object.values(all).map((type, i) =>
    AS_TEXT.has(type) ? `$${i + 1}::text[]::${type}[]` : `$${i + 1}::${type}[]`,
  );
  const columns = names.map((_, i) => `p${i + 1}`);
  const batch = `
SELECT c.item::integer, f.outcome, f.data
FROM unnest(${arrays.join(', ')}) WITH ORDINALITY AS c (${columns.join(', ')}, item),
  LATERAL ${name}(${columns.map((column) => `c.${column}`).join(', ')}, ${wait}) AS f`;
  return {
    name,
    parameters: names,
    single: defineQuery<Record<string, Value>, OutcomeRow>(name, [...names, 'wait'], single),
    batch: defineQuery<Record<string, Value>, OutcomeRow>(`${name}_batch`, [...names, 'wait'], batch),
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

/** `conflict`: the version of the file is not the one that was read. */
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

/** Stores the answer of a failed write under its idempotency key. */
export const recordFailureFunction = writeFunction<Record<never, never>, { kind: 'recorded' }>(
  'memory_record_failure',
  {},
  { mixesTenants: true },
);

export const writeFunctions: readonly WriteFunction[] = [
  createFunction,
  writeFileFunction,
  deleteFunction,
  renameFunction,
  recordFailureFunction,
];
