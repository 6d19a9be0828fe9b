import type { Context } from '@opentelemetry/api';

export type Scalar = string | number | boolean | null;

/** The value of a parameter. */
export type Value = Scalar | Scalar[];

/** Counts the characters of a call's strings. */
export function countCharacters(params: Record<string, Value>): number {
  let characters = 0;
  for (const value of Object.values(params)) if (typeof value === 'string') characters += value.length;
  return characters;
}

/** A SQL statement with numbered parameters, as the driver takes it, and the names of the parameters. */
export interface Query<Params extends Record<string, Value>, Row> {
  readonly name: string;
  readonly sql: string;
  /** The names of `$1`, `$2`, … */
  readonly parameters: readonly string[];
  /** Executes many calls of the query in one statement. */
  readonly batch?: BatchQuery | undefined;
  /** Type information only. */
  readonly types?: { params: Params; row: Row };
}

/**
 * Executes many calls, of any tenants, in one statement. Its parameters are arrays with an element for each call,
 * named as in the single query. It returns a row for each call that it handled; the single query handles the others.
 */
export type BatchQuery = Query<Record<string, Value>, { /** Which call, from 1. */ item: number }>;

/** The rows of a result; `count` is the number of rows written by a statement that returns none. */
export interface QueryResult<Row> {
  rows: Row[];
  count: number;
}

/** A request whose trace is kept: OpenTelemetry's context of it. */
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

/** A query whatever its parameters and rows. */
export type AnyQuery = Query<Record<string, Value>, Record<string, unknown>>;

const defined: AnyQuery[] = [];

/** All queries of the modules that are loaded, those for batches too: what tests and tools look at. */
export const definedQueries: readonly AnyQuery[] = defined;

/** A parameter by its name: `$tenant`. Not the end of a quotation: `$$;`. */
const PARAMETER = /(?<!\$)\$([a-z]\w*)/gi;

/**
 * Numbers the parameters of a text in the order in which they first occur, `$tenant` before all others.
 *
 * @throws Error when the text has a number for a parameter
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
 * Declares a query; only modules call this, as they load. Except for batches, the text says `tenant_id = $tenant` (or
 * `tenants.id = $tenant`) for each table, which keeps the query on one shard.
 *
 * Queries are text, not drizzle's builder: the builder numbers each use of a parameter separately, and reviewers
 * judge the SQL.
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
 * Returns the values of a query's parameters, in order.
 *
 * @throws Error when one is missing
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
 * Building blocks of the batch queries (see `BatchQueue`). Each row is found by the tenant of its call: every join says
 * `tenant_id = c.tenant`. A batch query handles the simple calls and leaves the others to the single query.
 */

/** Larger contents are read by the single query, so that a batch of them does not delay others or exhaust memory. */
export const MAX_BYTES = 32_768;

/**
 * Declares a batch query.
 *
 * @param parameters names and SQL types (strings are `text`)
 * @param text returns the SQL, given the calls as a FROM item: alias `c` with a column for each parameter, and `item`
 */
export function defineBatchQuery(
  name: string,
  parameters: Record<string, string>,
  text: (calls: string) => string,
): BatchQuery {
  const names = Object.keys(parameters);
  const arrays = Object.entries(parameters).map(([each, type]) => `$${each}::${type}[]`);
  const columns = names.map((each) => each.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`));
  const calls = `unnest(${arrays.join(', ')}) WITH ORDINALITY AS c (${columns.join(', ')}, item)`;
  return defineQuery<Record<string, Value>, { item: number }>(name, text(calls));
}

/** Traces statements. There is none while tracing is off. */
export interface StatementTracer {
  /** The traced requests that are being served: the caller's own, or the requests of `serve`. */
  current(): readonly TracedRequest[];
  /** Runs work for traced requests: a queue sends calls outside of the requests that made them. */
  serve<T>(requests: readonly TracedRequest[], work: () => T): T;
  /** Executes a statement, which throws a `DatabaseError`, with a span in each request that is being served. */
  trace<T>(statement: string, execute: () => Promise<T>): Promise<T>;
}

/** An executor whose statements are traced; the same one when there is no tracer. */
export function traced(execute: QueryExecutor, tracer: StatementTracer | undefined): QueryExecutor {
  if (tracer === undefined) return execute;
  return (statement, params) => tracer.trace(statement.name, () => execute(statement, params));
}

/**
 * An executor whose statements are spans of the requests that made `calls`, which waited in a queue; the same one when
 * there is no tracer.
 */
export function serving(
  execute: QueryExecutor,
  calls: readonly { requests: readonly TracedRequest[] }[],
  tracer: StatementTracer | undefined,
): QueryExecutor {
  if (tracer === undefined) return execute;
  const requests = calls.flatMap((call) => call.requests);
  return (statement, params) => tracer.serve(requests, () => execute(statement, params));
}

/** A time as text: UTC, to the microsecond, always as long, so that texts compare as times do. */
export const time = (column: string) =>
  `to_char(${column} AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')`;
