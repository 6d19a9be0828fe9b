import { batch, MAX_BYTES, RECEIPTS, REQUEST, UNANSWERED, WRITES } from './batch.ts';
import { insertIntoFilesStatement, replaceInFilesStatement } from './edits.ts';
import { roomForBytes, roomForFile } from './quota.ts';
import { findTenantsStatement } from './tenants.ts';

/* What single statements do, for many calls at once. */

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
  readFilesStatement,
  createFilesStatement,
  writeFilesStatement,
  replaceInFilesStatement,
  insertIntoFilesStatement,
  findTenantsStatement,
] as const;
