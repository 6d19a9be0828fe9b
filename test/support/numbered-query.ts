import type { Query, Value } from '../../src/core/database/query.ts';

/** Returns a query with numbered parameters, `$1`, `$2`, …, and its parameters. */
export function numberedQuery<Row>(
  sql: string,
  values: readonly Value[],
): { statement: Query<Record<string, Value>, Row>; params: Record<string, Value> } {
  const parameters = values.map((_, i) => `p${i + 1}`);
  return {
    statement: { name: sql, sql, parameters },
    params: Object.fromEntries(values.map((value, i) => [`p${i + 1}`, value])),
  };
}
