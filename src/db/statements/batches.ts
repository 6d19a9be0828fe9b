import { type BatchStatement, statement, type Value } from '../statement.ts';
import { roomForBytes, roomForFile } from './quota.ts';

/*
 * The statements for many calls at once (see `Batches`). The rules they keep:
 * - Each row of a table is found by the tenant of the call it is for: every join says `tenant_id = c.tenant`.
 * - They do what is plain and leave the rest: files that are there, writes into directories that are there, with room in the
 *   quota, under keys without an answer. Why the others cannot be done, or how, the single statements know.
 * - A tenant that another writer has locked is left too (SKIP LOCKED), so none waits, and none can deadlock.
 * - There is one call at the most of a tenant in a batch that writes: `Writer` sends its writes one after the other.
 */

/** Longer contents are read alone, so that an answer with many of them does not hold up the others or fill the memory. */
const MAX_BYTES = 32_768;

/** The calls as rows: parameters with their types, in order (strings are `text` there, which goes to the server as it is). */
function batch(
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

const RECEIPT = { keyHash: 'text', requestHash: 'text', answer: 'text' };

const UNANSWERED =
  '(SELECT i.tenant_id FROM idempotency_keys AS i WHERE i.tenant_id = c.tenant AND i.key_hash = c.key_hash) IS NULL';

const RECEIPTS = `
  INSERT INTO idempotency_keys AS i (tenant_id, key_hash, request_hash, content, is_error)
  SELECT c.tenant, c.key_hash, c.request_hash, c.answer, false FROM ready AS c WHERE c.key_hash IS NOT NULL`;

export const lookAtFilesStatement = batch(
  'look_at_files',
  { tenant: 'text', path: 'text', accessedBefore: 'text' },
  (calls) => `
SELECT c.item::integer, e.kind, e.content, e.accessed_at < c.accessed_before::timestamptz AS stale
FROM ${calls} JOIN entries AS e ON e.tenant_id = c.tenant AND e.path = c.path
WHERE e.kind = 'dir' OR e.size_bytes <= ${MAX_BYTES}
`,
);

export const readFilesStatement = batch(
  'read_files',
  { tenant: 'text', path: 'text' },
  (calls) => `
SELECT c.item::integer, e.content, e.version
FROM ${calls} JOIN entries AS e ON e.tenant_id = c.tenant AND e.path = c.path
WHERE e.kind = 'file' AND e.size_bytes <= ${MAX_BYTES}
`,
);

/** Creates files in directories that there are. */
export const createFilesStatement = batch(
  'create_files',
  {
    ...{ tenant: 'text', path: 'text', parent: 'text', content: 'text', version: 'text' },
    ...{ maxFiles: 'bigint', maxBytes: 'bigint' },
    ...RECEIPT,
  },
  (calls) => `
WITH call AS MATERIALIZED (
  SELECT c.*, octet_length(c.content) AS bytes FROM ${calls}
), ready AS MATERIALIZED (
  SELECT c.* FROM call AS c JOIN tenants AS t ON t.id = c.tenant
  WHERE ${roomForFile('c.bytes', 'c.max_files', 'c.max_bytes')}
    AND (SELECT e.kind FROM entries AS e WHERE e.tenant_id = c.tenant AND e.path = c.parent) = 'dir'
    AND (SELECT e.path FROM entries AS e WHERE e.tenant_id = c.tenant AND e.path = c.path) IS NULL
    AND ${UNANSWERED}
  FOR NO KEY UPDATE OF t SKIP LOCKED
), usage AS (
  UPDATE tenants AS t SET file_count = t.file_count + 1, byte_count = t.byte_count + c.bytes
  FROM ready AS c WHERE t.id = c.tenant
), receipt AS (${RECEIPTS}
), file AS (
  INSERT INTO entries AS e (tenant_id, path, parent_path, kind, content, version)
  SELECT c.tenant, c.path, c.parent, 'file', c.content, c.version::uuid FROM ready AS c
)
SELECT item::integer FROM ready
`,
);

/** Writes the contents of files that are at the version that was read. */
export const writeFilesStatement = batch(
  'write_files',
  {
    ...{ tenant: 'text', path: 'text', readVersion: 'text', content: 'text', version: 'text' },
    ...{ maxBytes: 'bigint' },
    ...RECEIPT,
  },
  (calls) => `
WITH call AS MATERIALIZED (
  SELECT c.*, octet_length(c.content) AS bytes FROM ${calls}
), ready AS MATERIALIZED (
  SELECT c.*, c.bytes - e.size_bytes AS more FROM call AS c
  JOIN tenants AS t ON t.id = c.tenant
  JOIN entries AS e ON e.tenant_id = c.tenant AND e.path = c.path AND e.version = c.read_version::uuid
  WHERE (c.bytes <= e.size_bytes OR ${roomForBytes('c.bytes - e.size_bytes', 'c.max_bytes')})
    AND ${UNANSWERED}
  FOR NO KEY UPDATE OF t, e SKIP LOCKED
), usage AS (
  UPDATE tenants AS t SET byte_count = t.byte_count + c.more FROM ready AS c WHERE t.id = c.tenant
), receipt AS (${RECEIPTS}
), file AS (
  UPDATE entries AS e SET content = c.content, version = c.version::uuid, updated_at = now()
  FROM ready AS c WHERE e.tenant_id = c.tenant AND e.path = c.path
)
SELECT item::integer FROM ready
`,
);

export const batchStatements = [
  lookAtFilesStatement,
  readFilesStatement,
  createFilesStatement,
  writeFilesStatement,
] as const;
