import type { Origin } from '../memory/origin.ts';
import type { MemoryPath } from '../memory/path.ts';
import { defineQuery } from '../postgres/query.ts';
import { time } from '../postgres/time.ts';
import { isBy, type Operation } from './queries.ts';

/*
 * What `revert` reads: an actor's changes in pages, and then of each file only what decides what becomes of it, which are a few look-ups by key.
 * A change that made no version yet superseded is that of a head.
 */

/** Which changes of a file are in a page: the actor's first one and the last one by anybody else. Ids grow with time. */
export interface FileChanges {
  memoryId: string;
  first: string | null;
  other: string | null;
}

/** A page of the superseded versions since a time, by their files. `last` is that of the page, of `count` versions. */
export const listSinceQuery = defineQuery<
  { tenant: string; by: string; since: string; after: string; limit: number },
  FileChanges & { last: string; count: number }
>(
  'list_since',
  ['tenant', 'by', 'since', 'after', 'limit'],
  `
WITH page AS MATERIALIZED (
  SELECT v.id::text COLLATE "C" AS id, v.memory_id, (${isBy('v.origin', '$2')}) AS is_theirs FROM versions AS v
  WHERE v.tenant_id = $1 AND v.id >= memory_first_id($3::text::timestamptz) AND v.id > $4::text::uuid ORDER BY v.id LIMIT $5::integer
)
SELECT p.memory_id AS "memoryId", min(p.id) FILTER (WHERE p.is_theirs) AS first, max(p.id) FILTER (WHERE NOT p.is_theirs) AS other,
  (SELECT max(id) FROM page) AS last, (SELECT count(*)::integer FROM page) AS count
FROM page AS p GROUP BY p.memory_id
`,
);

/** A page of the heads since a time, in the order of their paths. */
export const listHeadsSinceQuery = defineQuery<
  { tenant: string; by: string; since: string; after: string; limit: number },
  { path: string; memoryId: string; version: string; createdAt: string; isTheirs: boolean }
>(
  'list_heads_since',
  ['tenant', 'by', 'since', 'after', 'limit'],
  `
SELECT e.path, e.memory_id AS "memoryId", e.version, ${time('e.changed_at')} AS "createdAt", (${isBy('e.origin', '$2')}) AS "isTheirs"
FROM entries AS e
WHERE e.tenant_id = $1 AND e.path > $4 AND e.kind = 'file' AND e.changed_at >= $3::text::timestamptz ORDER BY e.path LIMIT $5::integer
`,
);

/** A version of a touched file. */
export interface TouchedVersion {
  versionId: string;
  operation: Operation;
  /** Null once redacted. */
  path: MemoryPath | null;
  /** Of the content, in hexadecimal. Null for a deleted or redacted one. */
  sha256: string | null;
}

/** A file that an actor changed since a time. */
export interface TouchedFile {
  memoryId: string;
  /** The last one that is known. */
  path: MemoryPath | null;
  /** Null when the file is deleted. */
  head: TouchedVersion | null;
  /** What the actor's first version since then did, and the version before it. */
  firstOperation: Operation;
  before: TouchedVersion | null;
  /** The last version by anybody else, if it came after. */
  other: (TouchedVersion & { origin: Origin | null; createdAt: string }) | null;
  /** The time of the actor's first version after `other`, or of the first one; null when there is none. */
  startedAt: string | null;
}

const STATE = (version: string, more = '') => `CASE WHEN ${version}.id IS NOT NULL THEN jsonb_build_object(
    'versionId', ${version}.id, 'operation', ${version}.operation, 'path', ${version}.path, 'sha256', encode(${version}.content_sha256, 'hex')${more}
  ) END`;
const VERSION =
  'SELECT id, operation, path, content_sha256, origin, created_at FROM versions WHERE tenant_id = $1';

/** Files that an actor changed, given by their ids, and those of the versions `first` and `other` of each. */
export const readTouchedQuery = defineQuery<
  { tenant: string; memoryIds: string[]; firsts: string[]; others: (string | null)[] },
  TouchedFile
>(
  'read_touched',
  ['tenant', 'memoryIds', 'firsts', 'others'],
  `
SELECT f.memory_id AS "memoryId", COALESCE(head.path, named.path) AS path, ${STATE('head')} AS head,
  COALESCE(first.operation, head.operation) AS "firstOperation", ${STATE('before')} AS before,
  CASE WHEN f.other = head.id THEN ${STATE('head', `, 'origin', head.origin, 'createdAt', ${time('head.created_at')}`)}
    ELSE ${STATE('other', `, 'origin', other.origin, 'createdAt', ${time('other.created_at')}`)} END AS other,
  ${time(`CASE
    WHEN f.other IS NULL THEN COALESCE(first.created_at, head.created_at)
    ELSE COALESCE(next.created_at, CASE WHEN head.id > f.other THEN head.created_at END)
  END`)} AS "startedAt"
FROM unnest($2::text[]::uuid[], $3::text[]::uuid[], $4::text[]::uuid[]) AS f (memory_id, first, other)
LEFT JOIN LATERAL (
  SELECT version AS id, operation, path, memory_sha256(content) AS content_sha256, origin, changed_at AS created_at
  FROM entries WHERE tenant_id = $1 AND memory_id = f.memory_id OFFSET 0
) AS head ON true
LEFT JOIN LATERAL (${VERSION} AND id = f.first OFFSET 0) AS first ON true
LEFT JOIN LATERAL (
  ${VERSION} AND memory_id = f.memory_id AND id < f.first ORDER BY memory_id DESC, id DESC LIMIT 1
) AS before ON true
LEFT JOIN LATERAL (${VERSION} AND id = f.other OFFSET 0) AS other ON true
LEFT JOIN LATERAL (
  ${VERSION} AND memory_id = f.memory_id AND id > f.other ORDER BY memory_id, id LIMIT 1
) AS next ON true
LEFT JOIN LATERAL (
  ${VERSION} AND memory_id = f.memory_id AND path IS NOT NULL ORDER BY memory_id DESC, id DESC LIMIT 1
) AS named ON head.id IS NULL
`,
);

/** Whether a change of a directory is the actor's, by any version that the same change made; null when all of those are heads. */
const isTheirsAt = (at: string) => `(
    SELECT ${isBy('v.origin', '$2')} FROM versions AS v
    WHERE v.tenant_id = $1 AND ${at} >= $3::text::timestamptz
      AND v.id >= memory_first_id(${at}) AND v.id < memory_first_id(${at} + interval '1 microsecond') LIMIT 1
  )`;

/** A time at which a directory was at its path; `removedAt` is null for one that is there. */
export interface Period {
  path: MemoryPath;
  madeAt: string;
  removedAt: string | null;
  /** Whether the actor did it; null when no superseded version says so. */
  isMadeByThem: boolean | null;
  isRemovedByThem: boolean | null;
}

/** A page of the directories that were removed since a time, the last path and its latest period first. */
export const listPeriodsQuery = defineQuery<
  { tenant: string; by: string; since: string; before: string; beforeTime: string; limit: number },
  Period
>(
  'list_periods',
  ['tenant', 'by', 'since', 'before', 'beforeTime', 'limit'],
  `
SELECT d.path, ${time('d.made_at')} AS "madeAt", ${time('d.removed_at')} AS "removedAt",
  ${isTheirsAt('d.made_at')} AS "isMadeByThem", ${isTheirsAt('d.removed_at')} AS "isRemovedByThem"
FROM (
  SELECT path, made_at, removed_at FROM past_directories
  WHERE tenant_id = $1 AND removed_at >= $3::text::timestamptz AND (path, removed_at) < ($4, $5::text::timestamptz)
  ORDER BY path DESC, removed_at DESC LIMIT $6::integer
) AS d
ORDER BY d.path DESC, d.removed_at DESC
`,
);

/** A page of the directories that are there and were made since a time, in the order of their paths. The first page comes after the root. */
export const listDirectoriesSinceQuery = defineQuery<
  { tenant: string; by: string; since: string; after: string; limit: number },
  Period
>(
  'list_directories_since',
  ['tenant', 'by', 'since', 'after', 'limit'],
  `
SELECT d.path, ${time('d.changed_at')} AS "madeAt", NULL AS "removedAt", ${isTheirsAt('d.changed_at')} AS "isMadeByThem",
  NULL::boolean AS "isRemovedByThem"
FROM (
  SELECT path, changed_at FROM entries
  WHERE tenant_id = $1 AND dir_path > $4 AND dir_path > '/memories' AND changed_at >= $3::text::timestamptz ORDER BY dir_path LIMIT $5::integer
) AS d
ORDER BY d.path
`,
);
