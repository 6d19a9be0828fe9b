import { defineQuery } from '../postgres/query.ts';
import { time } from '../postgres/time-column.ts';
import { STALE } from './access-times.ts';
import type { StoredMemory } from './write-functions.ts';

/* Files as the Memory Stores API reads them: by their ids, and in pages. They take no lock. */

export type MemoryRow = StoredMemory & {
  /** Whether the access time is to be updated. */
  stale: boolean;
};

const COLUMNS = (content: string) => `
  e.memory_id AS "memoryId", e.version AS "versionId", e.path, e.size_bytes AS "sizeBytes",
  encode(memory_sha256(e.content), 'hex') AS sha256, ${time('e.created_at')} AS "createdAt", ${time('e.changed_at')} AS "updatedAt",
  ${content} AS content, ${STALE} AS stale`;

export const findMemoryQuery = defineQuery<
  { tenant: string; memory: string; withContent: boolean },
  MemoryRow
>(
  'find_memory',
  ['tenant', 'memory', 'withContent'],
  `
SELECT ${COLUMNS('CASE WHEN $3::boolean THEN e.content END')}
FROM entries AS e WHERE e.tenant_id = $1 AND e.memory_id = $2::text::uuid
`,
);

export type MemoryPageParams = {
  tenant: string;
  /** The directory below which is listed. */
  top: string;
  /** The path after which the page begins. */
  after: string;
  withContent: boolean;
  limit: number;
  /** The page ends after the file that takes its contents beyond this many bytes. */
  bytes: number;
};

/** `dir`: a directory with files, of which only the path is there. `candidates`: how many there are, as far as that is known. */
export type MemoryPageRow = { kind: 'file' | 'dir'; candidates: number } & MemoryRow;

/** A page of the entries that `candidates` selects, in the order of their paths. Contents are read only of those that fit. */
const pageQuery = (name: string, candidates: string) =>
  defineQuery<MemoryPageParams, MemoryPageRow>(
    name,
    ['tenant', 'top', 'after', 'withContent', 'limit', 'bytes'],
    `
SELECT e.kind, listed.candidates::integer, ${COLUMNS('CASE WHEN $4::boolean THEN e.content END')}
FROM (
  SELECT c.path, row_number() OVER paths AS item, count(*) OVER () AS candidates,
    COALESCE(sum(c.size_bytes) OVER (paths ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING), 0) AS bytes_before
  FROM (${candidates} ORDER BY path LIMIT $5::integer + 1) AS c
  WINDOW paths AS (ORDER BY c.path)
) AS listed JOIN entries AS e ON e.tenant_id = $1 AND e.path = listed.path
WHERE listed.item <= $5::integer AND listed.bytes_before < $6::bigint
ORDER BY e.path
`,
  );

/** All files below the directory. */
export const listMemoriesQuery = pageQuery(
  'list_memories',
  `SELECT f.path, f.size_bytes FROM entries AS f
   WHERE f.tenant_id = $1 AND f.kind = 'file' AND f.path > $3 AND f.path > $2 || '/' AND f.path < $2 || '0'`,
);

/** What is directly in the directory: files, and directories with files below them. */
export const listChildrenQuery = pageQuery(
  'list_children',
  `SELECT d.path, d.size_bytes FROM entries AS d
   WHERE d.tenant_id = $1 AND d.parent_path = $2 AND d.path > $3 AND (d.kind = 'file' OR EXISTS (
     SELECT FROM entries AS f
     WHERE f.tenant_id = $1 AND f.kind = 'file' AND f.path > d.path || '/' AND f.path < d.path || '0'
   ))`,
);
