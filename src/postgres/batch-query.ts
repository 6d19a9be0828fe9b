import { type BatchQuery, defineQuery, type Value } from './query.ts';

/*
 * What the reading statements for many calls at once (see `BatchQueue`) are made of. Each row of a table is found by the tenant of the
 * call it is for: every join says `tenant_id = c.tenant`. They answer what is plain and leave the rest to the single statements.
 */

/** Longer contents are read alone, so that an answer with many of them does not hold up the others or fill the memory. */
export const MAX_BYTES = 32_768;

/**
 * Declares one.
 *
 * @param parameters with their types, in order (strings are `text` there, which goes to the server as it is)
 * @param text makes the statement from the calls as rows of a FROM list: `c`, with a column a parameter, and `item`
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
