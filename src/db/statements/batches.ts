import { batch, MAX_BYTES, RECEIPTS, REQUEST, UNANSWERED, WRITES } from './batch.ts';
import { insertIntoFilesStatement, replaceInFilesStatement } from './edits.ts';
import { DEPTH_FIRST, LINE, VISIBLE } from './listing.ts';
import { roomForBytes, roomForFile } from './quota.ts';
import { findTenantsStatement } from './tenants.ts';

/* What single statements do, for many calls at once. */

/** What is looked at is no entry, a directory, or a file that may be read with others. */
const NOT_LARGE = `(e.kind IS DISTINCT FROM 'file' OR e.size_bytes <= ${MAX_BYTES})`;

/** Where there is no entry, its row has no kind. */
export const lookAtFilesStatement = batch(
  'look_at_files',
  { tenant: 'text', path: 'text', accessedBefore: 'text' },
  (calls) => `
SELECT c.item::integer, e.kind, e.content, e.accessed_at < c.accessed_before::timestamptz AS stale
FROM ${calls} LEFT JOIN entries AS e ON e.tenant_id = c.tenant AND e.path = c.path
WHERE ${NOT_LARGE}
`,
);

/** A listing that looks at more goes alone, so that the others do not wait for it. */
const MAX_LISTED = 200;

/** Entries and, of directories, listings that are shown whole. Where there is no entry, its row has no kind. */
export const lookManyStatement = batch(
  'look_many',
  { tenant: 'text', path: 'text', maxEntries: 'bigint', accessedBefore: 'text' },
  (calls) => `
SELECT c.item::integer, e.kind, e.content, e.accessed_at < c.accessed_before::timestamptz AS stale, s.entries, s.total
FROM ${calls} LEFT JOIN entries AS e ON e.tenant_id = c.tenant AND e.path = c.path
CROSS JOIN LATERAL (
  WITH children AS MATERIALIZED (
    SELECT path, kind, size_bytes, ${VISIBLE} AS is_visible FROM entries
    WHERE tenant_id = c.tenant AND parent_path = c.path LIMIT ${MAX_LISTED + 1}
  ), grandchildren AS (
    SELECT path, size_bytes, ${VISIBLE} AS is_visible FROM entries
    WHERE tenant_id = c.tenant
      AND parent_path = ANY (ARRAY(SELECT path FROM children WHERE kind = 'dir' AND is_visible)) LIMIT ${MAX_LISTED + 1}
  ), listed AS (
    SELECT path, size_bytes, is_visible FROM children UNION ALL SELECT path, size_bytes, is_visible FROM grandchildren
  )
  SELECT string_agg(${LINE}, E'\\n' ORDER BY ${DEPTH_FIRST}) FILTER (WHERE is_visible) AS entries,
    (count(*) FILTER (WHERE is_visible))::integer AS total, count(*) AS looked_at
  FROM listed
) AS s
WHERE ${NOT_LARGE} AND s.looked_at <= ${MAX_LISTED} AND s.total <= c.max_entries
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
    ...{ maxFiles: 'bigint', maxBytes: 'bigint', answer: 'text' },
    ...REQUEST,
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
    ...{ maxBytes: 'bigint', answer: 'text' },
    ...REQUEST,
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
), ${WRITES}
SELECT item::integer FROM ready
`,
);

export const batchStatements = [
  lookAtFilesStatement,
  lookManyStatement,
  readFilesStatement,
  createFilesStatement,
  writeFilesStatement,
  replaceInFilesStatement,
  insertIntoFilesStatement,
  findTenantsStatement,
] as const;
