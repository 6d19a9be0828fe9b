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

/** A SQL statement of the service: its text, and its parameters `$1…` by name. */
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
 * Executes many calls, of any tenants, in one statement. Its parameters are arrays with an element for each call, named as in the
 * single query. It returns a row for each call that it handled; the single query handles the others.
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
 * @param requests the traced requests that a statement serves; by default the current one
 * @throws DatabaseError
 */
export type QueryExecutor = <Params extends Record<string, Value>, Row>(
  statement: Query<Params, Row>,
  params: Params,
  requests?: readonly TracedRequest[],
) => Promise<QueryResult<Row>>;

/** A query whatever its parameters and rows. */
export type AnyQuery = Query<Record<string, Value>, Record<string, unknown>>;

const defined: AnyQuery[] = [];

/** All queries of the modules that are loaded, those for batches too: what tests and tools look at. */
export const definedQueries: readonly AnyQuery[] = defined;

/**
 * Declares a query; only modules call this, as they load. `parameters` are the names of `$1`, `$2`, … in order. Except for batches, the first is the tenant, and the text says
 * `tenant_id = $1` (or `tenants.id = $1`) for each table, which keeps the query on one shard.
 *
 * Queries are text, not drizzle's builder: the builder numbers each use of a parameter separately, and reviewers judge the SQL.
 */
export function defineQuery<Params extends Record<string, Value>, Row = never>(
  name: string,
  parameters: readonly (keyof Params & string)[],
  text: string,
  batch?: BatchQuery,
): Query<Params, Row> {
  const query: Query<Params, Row> = { name, sql: text.trim(), parameters, batch };
  defined.push(query as unknown as AnyQuery);
  return query;
}
