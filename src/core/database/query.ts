import type { Context } from '@opentelemetry/api';

export type Scalar = string | number | boolean | null;

export type Value = Scalar | Scalar[];

export function countCharacters(params: Record<string, Value>): number {
  let characters = 0;
  for (const value of Object.values(params)) if (typeof value === 'string') characters += value.length;
  return characters;
}

/** A SQL statement with numbered parameters, as the driver expects it, and the parameter names. */
export interface Query<Params extends Record<string, Value>, Row> {
  readonly name: string;
  readonly sql: string;
  /** Parameter names for `$1`, `$2`, … */
  readonly parameters: readonly string[];
  /** Query that executes many calls in one statement. */
  readonly batch?: BatchQuery | undefined;
  /** For type inference only; never set. */
  readonly types?: { params: Params; row: Row };
}

/**
 * Executes many calls, across tenants, in one statement. Each parameter is an array with one element per call, and has
 * the same name as in the single query. The result has a row for each executed call. The single query executes the
 * other calls.
 */
export type BatchQuery = Query<Record<string, Value>, { /** Call number, from 1. */ item: number }> & {
  /** Whether calls receive their results in arrival order. If so, one statement runs at a time. */
  readonly inOrder?: boolean;
};

/** Query result. For a statement without result rows, `count` is the number of written rows. */
export interface QueryResult<Row> {
  rows: Row[];
  count: number;
}

/** OpenTelemetry context for a sampled request. */
export type TracedRequest = Context;

/**
 * Executes a query.
 *
 * @throws DatabaseError
 */
export type QueryExecutor = <Params extends Record<string, Value>, Row>(
  statement: Query<Params, Row>,
  params: Params,
) => Promise<QueryResult<Row>>;

/** A query with any parameters and rows. */
export type AnyQuery = Query<Record<string, Value>, Record<string, unknown>>;

const defined: AnyQuery[] = [];

/** All queries in the loaded modules, including batch queries, for tests and tools. */
export const definedQueries: readonly AnyQuery[] = defined;

/** Matches a named parameter such as `$tenant`, but not the end of a dollar quote such as `$$;`. */
const PARAMETER = /(?<!\$)\$([a-z]\w*)/gi;

/**
 * Numbers a text's parameters in order of appearance, beginning with `$tenant`.
 *
 * @throws Error when the text contains a numbered parameter
 */
export function parseQuery<Params extends Record<string, Value>, Row = never>(
  name: string,
  text: string,
  batch?: BatchQuery,
): Query<Params, Row> {
  if (/\$\d/.test(text)) throw new Error(`Statement ${name} numbers a parameter. Write its name instead.`);
  const named = [...text.matchAll(PARAMETER)].map(([, parameter = '']) => parameter);
  const parameters = [...new Set(named)].sort((a, b) => Number(b === 'tenant') - Number(a === 'tenant'));
  const sql = text.trim().replace(PARAMETER, (_, parameter) => `$${parameters.indexOf(parameter) + 1}`);
  return { name, sql, parameters, batch };
}

/**
 * Declares a query. Called only when a module loads. Except in batch queries, the text must restrict each table to
 * `tenant_id = $tenant` (or `tenants.id = $tenant`), so that the query runs on one shard.
 *
 * Queries are plain SQL, because reviewers assess the SQL, and because drizzle's query builder gives a parameter a new
 * number for each use.
 */
export function defineQuery<Params extends Record<string, Value>, Row = never>(
  name: string,
  text: string,
  batch?: BatchQuery,
): Query<Params, Row> {
  const query = parseQuery<Params, Row>(name, text, batch);
  defined.push(query as unknown as AnyQuery);
  return query;
}

/**
 * Returns the values for a query's parameters, in order.
 *
 * @throws Error when a value is missing
 */
export function parameterValues(
  { name, parameters }: Pick<AnyQuery, 'name' | 'parameters'>,
  params: Readonly<Record<string, Value | undefined>>,
): Value[] {
  return parameters.map((parameter) => {
    const value = params[parameter];
    if (value === undefined)
      throw new Error(`Statement ${name} lacks a value for its parameter $${parameter}.`);
    return value;
  });
}

/*
 * Batch queries (see `BatchQueue`). Every join restricts rows to the call's tenant: `tenant_id = c.tenant`. A batch
 * query executes the simple calls and leaves the others to the single query.
 */

/**
 * Maximum content size in a batch. The single query reads larger contents, so that a batch does not delay other calls
 * or exhaust memory.
 */
export const MAX_BYTES = 32_768;

/**
 * Declares a batch query.
 *
 * @param parameters names and SQL types (strings are `text`)
 * @param text returns the SQL for a FROM item with the calls: alias `c`, a column for each parameter, and `item`
 * @param options.inOrder whether calls receive their results in arrival order
 */
export function defineBatchQuery(
  name: string,
  parameters: Record<string, string>,
  text: (calls: string) => string,
  options: { inOrder?: boolean } = {},
): BatchQuery {
  const names = Object.keys(parameters);
  const arrays = Object.entries(parameters).map(([each, type]) => `$${each}::${type}[]`);
  const columns = names.map((each) => each.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`));
  const calls = `unnest(${arrays.join(', ')}) WITH ORDINALITY AS c (${columns.join(', ')}, item)`;
  return { ...defineQuery<Record<string, Value>, { item: number }>(name, text(calls)), ...options };
}

/** Traces statements. Undefined while tracing is off. */
export interface StatementTracer {
  /** Returns the traced requests that are being served: the caller's request, or the requests passed to `serve`. */
  current(): readonly TracedRequest[];
  /** Runs work for traced requests, because a queue sends calls outside their requests. */
  serve<T>(requests: readonly TracedRequest[], work: () => T): T;
  /** Executes a statement with a span in each traced request. Throws `DatabaseError`. */
  trace<T>(statement: string, execute: () => Promise<T>): Promise<T>;
}

/** Returns an executor that traces its statements, or `execute` itself without a tracer. */
export function traceExecutor(execute: QueryExecutor, tracer: StatementTracer | undefined): QueryExecutor {
  if (tracer === undefined) return execute;
  return (statement, params) => tracer.trace(statement.name, () => execute(statement, params));
}

/**
 * Returns an executor whose statements are spans in the requests that made `calls`, which waited in a queue. Without a
 * tracer, returns `execute` itself.
 */
export function serveRequests(
  execute: QueryExecutor,
  calls: readonly { requests: readonly TracedRequest[] }[],
  tracer: StatementTracer | undefined,
): QueryExecutor {
  if (tracer === undefined) return execute;
  const requests = calls.flatMap((call) => call.requests);
  return (statement, params) => tracer.serve(requests, () => execute(statement, params));
}

/** Formats a time in SQL: UTC with microseconds and a fixed length, so that text comparison orders times correctly. */
export const time = (column: string) =>
  `to_char(${column} AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')`;
