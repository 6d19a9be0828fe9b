import {
  defineQuery,
  type Query,
  type QueryExecutor,
  type QueryResult,
  type Scalar,
  type Value,
} from '../database/query.ts';
import type { MemoryResult } from '../memory/result.ts';

/* Declares and calls the database functions that change memory. One statement calls a function once or many times. */

/** Outcomes that every write can have. `skipped` never leaves the write queue. */
export type CommonOutcome =
  | { kind: 'skipped' | 'key_reused' | 'unknown_tenant' | 'replaced' | 'archived' }
  | ({ kind: 'replayed' } & MemoryResult);

/** Parameters that all writes share. `keyHash` is null for a request without an idempotency key. */
export type RequestParams = {
  tenant: string;
  keyHash: string | null;
  requestHash: string | null;
  /** Result to store under the idempotency key if the write succeeds. */
  result: string;
  /** The intended tenant's creation time; null for any tenant with the ID. */
  createdAt: string | null;
};

type OutcomeRow = {
  /** Call number, from 1. */
  item: number;
  outcome: string;
  data: Record<string, unknown> | null;
  /** Time from the statement's start on the server to the end of the call. Only in statements for many calls. */
  executingMs?: number;
};

export interface WriteFunction {
  readonly name: string;
  /** Parameters that differ between calls. The other parameters apply to all calls in a statement. */
  readonly ofCalls: readonly string[];
  /** Statement for one call. Citus delegates only this form to the tenant's node. */
  readonly single: Query<Record<string, Value>, OutcomeRow>;
  /**
   * Statement for many calls: an array for each of `ofCalls`, and whether to wait for tenants locked by another
   * session.
   */
  readonly batch: Query<Record<string, Value>, OutcomeRow>;
  /**
   * Whether calls for several tenants may share a statement. False for calls that may be slow, so that they do not
   * delay other tenants.
   */
  readonly mixesTenants: boolean;
}

export interface TypedWriteFunction<Params, Outcome> extends WriteFunction {
  readonly types?: { params: Params; outcome: Outcome };
}

/**
 * Calls a write function once. Rejects with the driver's error.
 *
 * @param size number of characters that the database processes for the call, if more than its parameters
 */
export type CallFunction = <Params extends RequestParams, Outcome extends { kind: string }>(
  fn: TypedWriteFunction<Params, Outcome>,
  params: Params,
  size?: number,
) => Promise<Exclude<Outcome, { kind: 'skipped' }>>;

/**
 * Returns the statement for one or many calls to a write function, with its parameters.
 *
 * @param options.wait whether to wait for tenants locked by another session; otherwise their calls are `skipped`
 */
export function writeStatement(
  { single, batch, ofCalls }: WriteFunction,
  calls: readonly Record<string, Value>[],
  { wait }: { wait: boolean },
): [statement: WriteFunction['single'], params: Record<string, Value>] {
  const params: Record<string, Value> = { ...calls[0], wait };
  if (calls.length === 1) return [single, params];
  for (const name of ofCalls) params[name] = calls.map((call) => (call[name] ?? null) as Scalar);
  return [batch, params];
}

/** Returns a statement's outcomes in call order. */
export function rowOutcomes({ rows }: QueryResult<OutcomeRow>): { kind: string }[] {
  const outcomes: { kind: string }[] = [];
  for (const { item, outcome, data } of rows) outcomes[item - 1] = { kind: outcome, ...data };
  return outcomes;
}

/** Returns a function that calls write functions in a session's transaction. */
export function callOn(query: QueryExecutor): CallFunction {
  return async (fn, params) => {
    const [statement, values] = writeStatement(fn, [params], { wait: true });
    return rowOutcomes(await query(statement, values))[0] as never;
  };
}

const defined: WriteFunction[] = [];

export const declaredWriteFunctions: readonly WriteFunction[] = defined;

/** SQL types whose values are strings in TypeScript. */
const AS_TEXT: ReadonlySet<string> = new Set(['uuid', 'jsonb', 'timestamptz']);

/**
 * Declares a write function. The calls in a statement run in array order, and each call sees the changes by earlier
 * calls.
 *
 * @param types.call SQL types for the function's specific parameters, in order. In SQL, the parameters in
 * `RequestParams` follow, and `createdAt` is the last
 * @param types.service SQL types for the service's defaults, which are the same for every call in the process
 * @param options.storesResult whether the function takes an idempotency key and a result to store
 */
export function writeFunction<
  Params extends Record<string, Value>,
  Service extends Record<string, number>,
  Outcome extends { kind: string },
>(
  name: string,
  types: {
    call: { [name in keyof Params & string]: string };
    service: { [name in keyof Service & string]: string };
  },
  { mixesTenants, storesResult = true }: { mixesTenants: boolean; storesResult?: boolean },
): TypedWriteFunction<Params & Service & RequestParams, Outcome | CommonOutcome> {
  const ofCalls: Record<string, string> = {
    tenant: 'text',
    ...types.call,
    ...(storesResult ? { keyHash: 'text', requestHash: 'text', result: 'text' } : {}),
    createdAt: 'timestamptz',
  };
  const columns = Object.keys(ofCalls).map((_, i) => `c.p${i + 1}`);
  const service = Object.entries<string>({ ...types.service, wait: 'boolean' }).map(
    ([parameter, type]) => `$${parameter}::${type}`,
  );
  // Not `$parameter::text::timestamptz`, whose constant Citus cannot send to the tenant's node.
  const values = Object.entries(ofCalls).map(([parameter, type]) => `$${parameter}::${type}`);
  // String arrays are sent as `text[]`, for every parameter type (docs/decisions/0002-binary-arrays.md).
  const arrays = Object.entries(ofCalls).map(([parameter, type]) =>
    AS_TEXT.has(type) ? `$${parameter}::text[]::${type}[]` : `$${parameter}::${type}[]`,
  );
  const orderArguments = (given: string[]) =>
    [...given.slice(0, -1), ...service, ...given.slice(-1)].join(', ');
  const single = `SELECT 1 AS item, f.outcome, f.data FROM ${name}(${orderArguments(values)}) AS f`;
  const batch = `
SELECT c.item::integer, f.outcome, f.data,
  (1000 * extract(epoch FROM clock_timestamp() - statement_timestamp()))::float8 AS "executingMs"
FROM unnest(${arrays.join(', ')}) WITH ORDINALITY AS c (${columns.map((column) => column.slice(2)).join(', ')}, item),
  LATERAL ${name}(${orderArguments(columns)}) AS f`;
  const fn: WriteFunction = {
    name,
    ofCalls: Object.keys(ofCalls),
    single: defineQuery<Record<string, Value>, OutcomeRow>(name, single),
    batch: defineQuery<Record<string, Value>, OutcomeRow>(`${name}_batch`, batch),
    mixesTenants,
  };
  defined.push(fn);
  return fn;
}
