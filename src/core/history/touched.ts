import { defineQuery, type QueryExecutor, time } from '../database/query.ts';
import { readPages } from '../lib/pages.ts';
import { timeSliced } from '../lib/time-slice.ts';
import { FIRST_ID } from '../lib/uuids.ts';
import type { MemoryPath } from '../memory/path.ts';
import { isBy, type Operation } from './version.ts';

/*
 * Finds the files that an actor changed. Reads the actor's changes page by page. Then reads, for each file, only the few
 * versions that bound its changes, by key. A change whose version is not superseded yet is stored in the file's current
 * version.
 */

/** Selection of an actor's changes between two times. If `by` is null, changes by all actors are selected. */
export type ActorChanges = { tenant: string; by: string | null; since: string; until: string };

/**
 * SQL condition: whether a change was made by the actor, at or before `until`. Later changes by the actor are treated
 * like changes by others.
 */
export const isByActorSql = (origin: string, at: string) =>
  `($by::text IS NULL OR ${isBy(origin, '$by')}) AND ${at} <= $until::text::timestamptz`;

/**
 * SQL condition: whether a version resolves the conflicts in an earlier revert that selected all of these changes
 * before the version.
 */
export const isResolution = (origin: string) =>
  `COALESCE(${origin} #>> '{resolves,by}' IS NOT DISTINCT FROM $by::text
    AND (${origin} #>> '{resolves,since}')::timestamptz <= $since::text::timestamptz
    AND COALESCE((${origin} #>> '{resolves,until}')::timestamptz, 'infinity') >= $until::text::timestamptz, false)`;

/** Changes to a file within a page: the actor's first change, and the last change by others. IDs grow with time. */
export interface FileChanges {
  memoryId: string;
  first: string | null;
  other: string | null;
}

/** Groups a page of the superseded versions since a time by file. `last` and `count` describe the whole page. */
const listSinceQuery = defineQuery<
  ActorChanges & { after: string; limit: number },
  FileChanges & { last: string; count: number }
>(
  'list_since',
  `
WITH page AS MATERIALIZED (
  SELECT v.id::text COLLATE "C" AS id, v.memory_id, (${isByActorSql('v.origin', 'v.created_at')}) AS is_theirs
  FROM versions AS v
  WHERE v.tenant_id = $tenant AND v.id >= memory_first_id($since::text::timestamptz) AND v.id > $after::text::uuid
  ORDER BY v.id LIMIT $limit::integer
)
SELECT p.memory_id AS "memoryId", min(p.id) FILTER (WHERE p.is_theirs) AS first,
  max(p.id) FILTER (WHERE NOT p.is_theirs) AS other,
  (SELECT max(id) FROM page) AS last, (SELECT count(*)::integer FROM page) AS count
FROM page AS p GROUP BY p.memory_id
`,
);

const listHeadsSinceQuery = defineQuery<
  ActorChanges & { after: string; limit: number },
  { path: string; memoryId: string; version: string; createdAt: string; isTheirs: boolean }
>(
  'list_heads_since',
  `
SELECT e.path, e.memory_id AS "memoryId", e.version, ${time('e.changed_at')} AS "createdAt",
  (${isByActorSql('e.origin', 'e.changed_at')}) AS "isTheirs"
FROM entries AS e
WHERE e.tenant_id = $tenant AND e.path > $after AND e.kind = 'file' AND e.changed_at >= $since::text::timestamptz
ORDER BY e.path LIMIT $limit::integer
`,
);

export interface TouchedVersion {
  versionId: string;
  operation: Operation;
  /** Null for redacted versions. */
  path: MemoryPath | null;
  /** SHA-256 of the content, hexadecimal. Null for deletions and redacted versions. */
  sha256: string | null;
  sizeBytes: number | null;
}

/** A file that an actor changed since a time. */
export interface TouchedFile {
  memoryId: string;
  /** The file's last known path. */
  path: MemoryPath | null;
  /** Current version; null if the file is deleted. */
  head: TouchedVersion | null;
  /** Operation in the actor's first change since that time, and the version before this change. */
  firstOperation: Operation;
  before: TouchedVersion | null;
  /** ID of the last version by others after the actor's first change. */
  other: string | null;
  /** Time of the actor's first change after `other`, or the actor's first change if there is none. */
  startedAt: string;
}

const STATE = (version: string) => `CASE WHEN ${version}.id IS NOT NULL THEN jsonb_build_object(
    'versionId', ${version}.id, 'operation', ${version}.operation, 'path', ${version}.path, 'sha256', encode(${version}.content_sha256, 'hex'),
    'sizeBytes', ${version}.size_bytes
  ) END`;
const VERSION =
  'SELECT id, operation, path, content_sha256, size_bytes, created_at FROM versions WHERE tenant_id = $tenant';

/**
 * Reads the versions that decide the files' target states. Each file is given by its ID and its versions `first` and
 * `other`.
 */
const readTouchedQuery = defineQuery<
  { tenant: string; memoryIds: string[]; firsts: string[]; others: (string | null)[] },
  TouchedFile
>(
  'read_touched',
  `
SELECT f.memory_id AS "memoryId", COALESCE(head.path, named.path) AS path, ${STATE('head')} AS head,
  COALESCE(first.operation, head.operation) AS "firstOperation", ${STATE('before')} AS before,
  f.other, ${time(`COALESCE(
    next.created_at, CASE WHEN head.id > f.other THEN head.created_at END, first.created_at, head.created_at
  )`)} AS "startedAt"
FROM unnest($memoryIds::text[]::uuid[], $firsts::text[]::uuid[], $others::text[]::uuid[]) AS f (memory_id, first, other)
LEFT JOIN LATERAL (
  SELECT version AS id, operation, path, memory_sha256(content) AS content_sha256, size_bytes, changed_at AS created_at
  FROM entries WHERE tenant_id = $tenant AND memory_id = f.memory_id OFFSET 0
) AS head ON true
LEFT JOIN LATERAL (${VERSION} AND id = f.first OFFSET 0) AS first ON true
LEFT JOIN LATERAL (
  ${VERSION} AND memory_id = f.memory_id AND id < f.first ORDER BY memory_id DESC, id DESC LIMIT 1
) AS before ON true
LEFT JOIN LATERAL (
  ${VERSION} AND memory_id = f.memory_id AND id > f.other ORDER BY memory_id, id LIMIT 1
) AS next ON true
LEFT JOIN LATERAL (
  ${VERSION} AND memory_id = f.memory_id AND path IS NOT NULL ORDER BY memory_id DESC, id DESC LIMIT 1
) AS named ON head.id IS NULL
`,
);

/** Finds the actor's first change to one file, and the last change by others. */
const findTouchedQuery = defineQuery<
  ActorChanges & { memoryId: string },
  { first: string | null; other: string | null }
>(
  'find_touched',
  `
SELECT min(c.id) FILTER (WHERE c.is_theirs) AS first, max(c.id) FILTER (WHERE NOT c.is_theirs) AS other
FROM (
  SELECT v.id::text COLLATE "C" AS id, (${isByActorSql('v.origin', 'v.created_at')}) AS is_theirs FROM versions AS v
  WHERE v.tenant_id = $tenant AND v.memory_id = $memoryId::text::uuid
    AND v.id >= memory_first_id($since::text::timestamptz)
  UNION ALL
  SELECT e.version::text, (${isByActorSql('e.origin', 'e.changed_at')}) FROM entries AS e
  WHERE e.tenant_id = $tenant AND e.memory_id = $memoryId::text::uuid AND e.changed_at >= $since::text::timestamptz
) AS c
`,
);

const VERSIONS_A_PAGE = 20_000;
/** Files or directories per page. */
export const ROWS_A_PAGE = 2000;
/** Small, because the contents of current versions are hashed. */
const FILES_A_PAGE = 500;

/**
 * Files that an actor changed since a time, by ID, and the times at which the actor's changes created current
 * versions.
 */
export interface Touched {
  files: Map<string, { first: string; other: string | null }>;
  headTimes: Set<string>;
}

/**
 * Finds the files that an actor changed, page by page. Memory use depends on the number of files, not on the number of
 * changes.
 *
 * @param onProgress receives the number of versions read so far
 */
export async function findTouched(
  query: QueryExecutor,
  changes: ActorChanges,
  onProgress: (versions: number) => void,
): Promise<Touched> {
  const seen = new Map<string, { first: string | null; other: string | null }>();
  const headTimes = new Set<string>();
  // In any row order, keeps the actor's first change and the last change by others.
  const add = (memoryId: string, first: string | null, other: string | null) => {
    const file = seen.get(memoryId) ?? { first: null, other: null };
    if (first !== null && (file.first === null || first < file.first)) file.first = first;
    if (other !== null && (file.other === null || other > file.other)) file.other = other;
    seen.set(memoryId, file);
  };

  let versions = 0;
  for (let after = FIRST_ID; ; ) {
    const { rows } = await query(listSinceQuery, { ...changes, after, limit: VERSIONS_A_PAGE });
    for await (const { memoryId, first, other } of timeSliced(rows)) add(memoryId, first, other);
    const [row] = rows;
    if (row === undefined) break;
    after = row.last;
    versions += row.count;
    onProgress(versions);
  }
  const heads = readPages<{
    path: string;
    memoryId: string;
    version: string;
    createdAt: string;
    isTheirs: boolean;
  }>(
    async (last) =>
      (await query(listHeadsSinceQuery, { ...changes, after: last?.path ?? '', limit: ROWS_A_PAGE })).rows,
    ROWS_A_PAGE,
  );
  for await (const { memoryId, version, createdAt, isTheirs } of timeSliced(heads)) {
    add(memoryId, isTheirs ? version : null, isTheirs ? null : version);
    if (isTheirs) headTimes.add(createdAt);
  }

  const files: Touched['files'] = new Map();
  for await (const [memoryId, { first, other }] of timeSliced(seen)) {
    if (first !== null) files.set(memoryId, { first, other: laterTime(first, other) });
  }
  return { files, headTimes };
}

const laterTime = (first: string, other: string | null) => (other !== null && other > first ? other : null);

/** Finds one file. Returns undefined if the actor has not changed it. */
export async function findTouchedFile(
  query: QueryExecutor,
  changes: ActorChanges,
  memoryId: string,
): Promise<TouchedFile | undefined> {
  const { first = null, other = null } =
    (await query(findTouchedQuery, { ...changes, memoryId })).rows[0] ?? {};
  if (first === null) return undefined;
  const files = new Map([[memoryId, { first, other: laterTime(first, other) }]]);
  for await (const file of readTouched(query, changes.tenant, { files })) return file;
  return undefined;
}

export async function* readTouched(
  query: QueryExecutor,
  tenant: string,
  { files }: Pick<Touched, 'files'>,
): AsyncGenerator<TouchedFile> {
  const all = [...files];
  for (let from = 0; from < all.length; from += FILES_A_PAGE) {
    const page = all.slice(from, from + FILES_A_PAGE);
    const { rows } = await query(readTouchedQuery, {
      tenant,
      memoryIds: page.map(([memoryId]) => memoryId),
      firsts: page.map(([, { first }]) => first),
      others: page.map(([, { other }]) => other),
    });
    yield* rows;
  }
}
