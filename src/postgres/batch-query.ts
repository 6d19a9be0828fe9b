import { type BatchQuery, defineQuery, type Value } from './query.ts';

/*
 * Building blocks of the batch queries (see `BatchQueue`). Each row is found by the tenant of its call: every join says
 * `tenant_id = c.tenant`. A batch query handles the simple calls and leaves the others to the single query.
 */

/** Larger contents are read by the single query, so that a batch of them does not delay others or exhaust memory. */
export const MAX_BYTES = 32_768;

/**
 * Declares a batch query.
 *
 * @param parameters names and SQL types, in order (strings are `text`)
 * @param text returns the SQL, given the calls as a FROM item: alias `c` with a column for each parameter, and `item`
 */
export function defineBatchQuery(
  name: string,
  parameters: Record<string, string>,
  text: (calls: string) => string,
): BatchQuery {
  const names = Object.keys(parameters);
  const arrays = Object.values(parameters).map((type, i) => `$${i + 1}::${type}[]`);
  const columns = names.map((each) => each.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`));
  const calls = `unnest(${arrays.join(', ')}) WITH ORDINALITY AS c (${columns.join(', ')}, item)`;
  return defineQuery<Record<string, Value>, { item: number }>(name, names, text(calls));
}
