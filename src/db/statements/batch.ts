import { type BatchStatement, statement, type Value } from '../statement.ts';

/*
 * What the statements for many calls at once (see `Batches`) are made of. The rules they keep:
 * - Each row of a table is found by the tenant of the call it is for: every join says `tenant_id = c.tenant`.
 * - They do what is plain and leave the rest: files that are there, writes into directories that are there, with room in the
 *   quota, under keys without an answer. Why the others cannot be done, or how, the single statements know.
 * - A tenant that another writer has locked is left too (SKIP LOCKED), so none waits, and none can deadlock.
 * - There is one call at the most of a tenant in a batch that writes: `Writer` sends its writes one after the other.
 */

/** Longer contents are read alone, so that an answer with many of them does not hold up the others or fill the memory. */
export const MAX_BYTES = 32_768;

/**
 * Declares one.
 *
 * @param parameters with their types, in order (strings are `text` there, which goes to the server as it is)
 * @param text makes the statement from the calls as rows of a FROM list: `c`, with a column a parameter, and `item`
 */
export function batch(
  name: string,
  parameters: Record<string, string>,
  text: (calls: string) => string,
): BatchStatement {
  const names = Object.keys(parameters);
  const arrays = Object.values(parameters).map((type, i) => `$${i + 1}::${type}[]`);
  const columns = names.map((each) => each.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`));
  const calls = `unnest(${arrays.join(', ')}) WITH ORDINALITY AS c (${columns.join(', ')}, item)`;
  return statement<Record<string, Value>, { item: number }>(name, names, text(calls));
}

/** The parameters of a write's idempotency key, null where it has none. */
export const REQUEST = { keyHash: 'text', requestHash: 'text' };

/** Whether a call's key, if it has one, is new. */
export const UNANSWERED =
  '(SELECT i.tenant_id FROM idempotency_keys AS i WHERE i.tenant_id = c.tenant AND i.key_hash = c.key_hash) IS NULL';

/** Stores the `answer` of each row of `ready` that has a key. */
export const RECEIPTS = `
  INSERT INTO idempotency_keys AS i (tenant_id, key_hash, request_hash, content, is_error)
  SELECT c.tenant, c.key_hash, c.request_hash, c.answer, false FROM ready AS c WHERE c.key_hash IS NOT NULL`;

/** Writes the `content` of each row of `ready` to its file, which gets `more` bytes by that, and its receipt: the end of a WITH list. */
export const WRITES = `usage AS (
  UPDATE tenants AS t SET byte_count = t.byte_count + c.more FROM ready AS c WHERE t.id = c.tenant
), receipt AS (${RECEIPTS}
), file AS (
  UPDATE entries AS e SET content = c.content, version = c.version::uuid, updated_at = now()
  FROM ready AS c WHERE e.tenant_id = c.tenant AND e.path = c.path
)`;
