export type Scalar = string | number | boolean | null;

/** A parameter's value. */
export type Value = Scalar | Scalar[];

/** The size of a call: the characters of its strings. */
export function countCharacters(params: Record<string, Value>): number {
  let characters = 0;
  for (const value of Object.values(params)) if (typeof value === 'string') characters += value.length;
  return characters;
}

/** One SQL statement of the service: its text, and its parameters `$1…` by name. */
export interface Query<Params extends Record<string, Value>, Row> {
  readonly name: string;
  readonly sql: string;
  /** The names of `$1`, `$2`, … */
  readonly parameters: readonly string[];
  /** Does many calls of it at once. */
  readonly batch?: BatchQuery | undefined;
  /** Only types: ties parameters and rows to the statement. */
  readonly types?: { params: Params; row: Row };
}

/**
 * Does the work of many calls at once, of any tenants. Its parameters are arrays with an element a call, each called as in
 * the single statement; it gives a row for each call it did, and leaves the others to the single statement.
 */
export type BatchQuery = Query<Record<string, Value>, { /** Which call, from 1. */ item: number }>;

/** What a statement gave: its rows, and how many rows it wrote where it returns none. */
export interface QueryResult<Row> {
  rows: Row[];
  count: number;
}

/** Runs a statement on a session of the database. */
export type QueryExecutor = <Params extends Record<string, Value>, Row>(
  statement: Query<Params, Row>,
  params: Params,
) => Promise<QueryResult<Row>>;

/**
 * Declares a statement. `parameters` are its `$1`, `$2`, … in order; but for batches the first is always the tenant, and the text says
 * `tenant_id = $1` (or `tenants.id = $1`) for each table it touches, which is what makes it fit for sharding.
 *
 * Written as text and not with drizzle's builder, because the builder numbers each use of a parameter anew, and
 * because it is the SQL that a reviewer has to judge.
 */
export function defineQuery<Params extends Record<string, Value>, Row = never>(
  name: string,
  parameters: readonly (keyof Params & string)[],
  text: string,
  batch?: BatchQuery,
): Query<Params, Row> {
  return { name, sql: text.trim(), parameters, batch };
}
