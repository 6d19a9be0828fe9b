import type { BatchQuery, Query, Value } from '../../src/database/query.ts';

/** A query of a test: as `defineQuery` makes them, but not one of the service's statements. */
export function testQuery<Params extends Record<string, Value>, Row = never>(
  name: string,
  parameters: readonly (keyof Params & string)[],
  sql: string,
  batch?: BatchQuery,
): Query<Params, Row> {
  return { name, sql, parameters, batch };
}
