import { defineQuery, type QueryExecutor } from '../../core/database/query.ts';
import { BATCH, readPages } from '../../core/lib/pages.ts';
import { FIRST_ID, LAST_ID } from '../../core/lib/uuids.ts';
import { bindRootQuery, COUNTED_HISTORY } from '../../core/tenants/queries.ts';
import {
  type ArchivedDirectory,
  damagedHistory,
  type Manifest,
  type StoredVersion,
} from './history-format.ts';

// These queries require a locked tenant that had no files and no history. Rows are sent as a JSON array.

const VERSIONS = `json_to_recordset($rows::text::json) AS v (
  id uuid, memory_id uuid, operation text, path text, sha256 text, size_bytes integer, created_at timestamptz,
  superseded_at timestamptz, origin jsonb, redacted_at timestamptz, redacted_by jsonb,
  splice_start integer, splice_length integer, content text
)`;
/** Whether the first half of the version ID encodes the version's creation time. */
const HAS_ITS_TIME = 'left(v.id::text, 18) = left(memory_first_id(v.created_at)::text, 18)';

/**
 * Turns imported files into their current versions from the history. Returns the IDs of the versions whose content
 * matches.
 */
export const importHeadsQuery = defineQuery<{ tenant: string; rows: string }, { id: string }>(
  'import_heads',
  `
UPDATE entries AS e SET
  version = v.id, memory_id = v.memory_id, operation = v.operation, changed_at = v.created_at, origin = v.origin,
  created_at = v.created_at
FROM ${VERSIONS}
WHERE e.tenant_id = $tenant AND e.path = v.path AND e.kind = 'file' AND ${HAS_ITS_TIME}
  AND (v.sha256 IS NULL OR v.sha256 = encode(memory_sha256(e.content), 'hex'))
RETURNING v.id
`,
);

/** Inserts superseded versions. Returns the inserted version IDs and skips existing IDs. */
export const importVersionsQuery = defineQuery<{ tenant: string; rows: string }, { id: string }>(
  'import_versions',
  `
INSERT INTO versions AS made (
  tenant_id, id, memory_id, operation, path, size_bytes, content_sha256, splice_start, splice_length, content,
  created_at, superseded_at, origin, redacted_at, redacted_by, bytes
)
SELECT $tenant, v.id, v.memory_id, v.operation, v.path, v.size_bytes, decode(v.sha256, 'hex'), v.splice_start,
  v.splice_length, v.content,
  v.created_at, v.superseded_at, v.origin, v.redacted_at, v.redacted_by, memory_version_bytes($tenant, v.path, v.origin, v.content)
FROM ${VERSIONS}
WHERE ${HAS_ITS_TIME}
ON CONFLICT (tenant_id, id) DO NOTHING
RETURNING made.id
`,
);

/** Sets each file's creation time to the creation time of its oldest version. */
export const importCreationTimesQuery = defineQuery<{ tenant: string }>(
  'import_creation_times',
  `
UPDATE entries AS e SET created_at = oldest.created_at
FROM (SELECT memory_id, min(created_at) AS created_at FROM versions WHERE tenant_id = $tenant
GROUP BY memory_id) AS oldest
WHERE e.tenant_id = $tenant AND e.memory_id = oldest.memory_id
`,
);

export const listPastFilesQuery = defineQuery<
  { tenant: string; after: string; limit: number },
  { memoryId: string }
>(
  'list_past_files',
  `
SELECT DISTINCT memory_id AS "memoryId" FROM versions WHERE tenant_id = $tenant AND memory_id > $after::text::uuid
ORDER BY memory_id LIMIT $limit
`,
);

/**
 * Reads a file's superseded versions that have content, newest first, until the contents reach `bytes` in total.
 */
export const readPastContentsQuery = defineQuery<
  { tenant: string; memoryId: string; before: string; bytes: number; withContents: boolean },
  { id: string; isRight: boolean; content: string | null }
>(
  'read_past_contents',
  `
SELECT id, is_right AS "isRight", content
FROM memory_past_contents($tenant, $memoryId::uuid, $before::uuid, $bytes::bigint, $withContents::boolean)
`,
);

export const replaceContentQuery = defineQuery<{
  tenant: string;
  memoryId: string;
  version: string;
  content: string;
}>('replace_content', 'SELECT memory_replace_content($tenant, $memoryId::uuid, $version::uuid, $content)');

const DIRECTORIES =
  'json_to_recordset($rows::text::json) AS d (path text, created_at timestamptz, removed_at timestamptz)';

export const importDirectoryTimesQuery = defineQuery<{ tenant: string; rows: string }>(
  'import_directory_times',
  `UPDATE entries AS e SET changed_at = d.created_at FROM ${DIRECTORIES} WHERE e.tenant_id = $tenant AND e.dir_path = d.path`,
);

/** Inserts past directories. Returns the inserted paths and skips existing directories. */
export const importPastDirectoriesQuery = defineQuery<{ tenant: string; rows: string }, { path: string }>(
  'import_past_directories',
  `
INSERT INTO past_directories AS made (tenant_id, path, created_at, removed_at)
SELECT $tenant, d.path, d.created_at, d.removed_at FROM ${DIRECTORIES}
ON CONFLICT (tenant_id, path, removed_at) DO NOTHING
RETURNING made.path
`,
);

/** SQL value: a microsecond before `created_at`. Without time zones, the subtraction is immutable, as Citus requires. */
const JUST_BEFORE = "(created_at AT TIME ZONE 'UTC' - interval '1 microsecond') AT TIME ZONE 'UTC'";

/**
 * Updates a tenant's counters after a history import, and moves the tenant's times so that later changes sort after the
 * history. Readers of the tenant's changes must begin again, because the imported versions may be older than their
 * positions. They know by the tenant's new creation time.
 */
export const countHistoryQuery = defineQuery<{ tenant: string; createdAt: string; since: string }>(
  'count_history',
  `
UPDATE tenants SET ${COUNTED_HISTORY},
  created_at = LEAST(${JUST_BEFORE}, $createdAt::timestamptz), history_since = $since::timestamptz,
  last_change_at = GREATEST(
    last_change_at, $since::timestamptz,
    (SELECT max(GREATEST(v.created_at, v.superseded_at)) FROM memory_versions AS v WHERE v.tenant_id = $tenant),
    (SELECT max(GREATEST(d.created_at, d.removed_at)) FROM memory_directories AS d WHERE d.tenant_id = $tenant)
  )
WHERE id = $tenant
`,
);

/** Finds the first inconsistency in an imported history. `what` ends a sentence that starts with `at`. */
export const findDamageQuery = defineQuery<{ tenant: string }, { what: string; at: string }>(
  'find_damage',
  `
SELECT * FROM (
  SELECT 'is there twice' AS what, 'the version ' || id AS at FROM (
    SELECT v.id FROM versions AS v WHERE v.tenant_id = $tenant
    INTERSECT SELECT e.version FROM entries AS e WHERE e.tenant_id = $tenant
  ) AS twice
  UNION ALL
  SELECT 'is not over when the next one of its file begins', 'the version ' || id FROM (
    SELECT v.id, v.superseded_at, lead(v.created_at) OVER (PARTITION BY v.memory_id ORDER BY v.created_at, v.superseded_at) AS next
    FROM memory_versions AS v WHERE v.tenant_id = $tenant
  ) AS chained WHERE next < COALESCE(superseded_at, 'infinity')
  UNION ALL
  SELECT 'was two things at a time', 'the path ' || path FROM (
    SELECT path, until, lead(since) OVER (PARTITION BY path ORDER BY since, until) AS next FROM (
      SELECT v.path, v.created_at AS since, COALESCE(v.superseded_at, 'infinity') AS until FROM memory_versions AS v
      WHERE v.tenant_id = $tenant AND v.operation <> 'deleted' AND v.path IS NOT NULL
      UNION ALL
      SELECT d.path, d.created_at, COALESCE(d.removed_at, 'infinity') FROM memory_directories AS d
      WHERE d.tenant_id = $tenant
    ) AS things
  ) AS following WHERE next < until
  UNION ALL
  SELECT 'is in the future', 'the time ' || last_change_at FROM tenants WHERE id = $tenant
    AND last_change_at > now() + interval '1 day'
) AS damage ORDER BY what LIMIT 1
`,
);

/** A history to import. Each row is already valid by itself. */
export interface HistorySource {
  readonly manifest: Manifest;
  /** Yields the current versions of existing files. */
  heads(): AsyncIterable<StoredVersion[]>;
  /** Yields the superseded versions. */
  versions(): AsyncIterable<StoredVersion[]>;
  directories(): AsyncIterable<ArchivedDirectory[]>;
  /**
   * Applies a policy on secrets to a version's content, and returns the content to store. Throws if the policy rejects
   * the content. Undefined without a policy.
   */
  readonly inspect?: ((version: string, content: string) => Promise<string>) | undefined;
}

/**
 * Imports the history for files that were just imported into an empty tenant, in the caller's transaction.
 *
 * @returns the number of imported versions
 * @throws ServiceError if the history is inconsistent or does not match the files
 */
export async function importHistory(
  query: QueryExecutor,
  tenant: string,
  source: HistorySource,
): Promise<number> {
  let versions = 0;
  const check = (rows: StoredVersion[], made: { id: string }[]) => {
    versions += rows.length;
    const ids = new Set(made.map(({ id }) => id));
    const missing = rows.find(({ id }) => !ids.delete(id));
    if (missing !== undefined)
      throw damagedHistory(`version ${missing.id} lacks its content or its time, or is there twice`);
  };
  for await (const rows of source.heads()) {
    check(rows, (await query(importHeadsQuery, { tenant, rows: JSON.stringify(rows) })).rows);
  }
  for await (const rows of source.versions()) {
    check(rows, (await query(importVersionsQuery, { tenant, rows: JSON.stringify(rows) })).rows);
  }
  await query(importCreationTimesQuery, { tenant });
  for await (const rows of source.directories()) await importDirectoryRows(query, tenant, rows);

  await checkContents(query, tenant, source.inspect);
  const { created_at: createdAt, complete_since: since } = source.manifest;
  await query(countHistoryQuery, { tenant, createdAt, since });
  await query(bindRootQuery, { tenant });
  const damage = (await query(findDamageQuery, { tenant })).rows[0];
  if (damage !== undefined) throw damagedHistory(`${damage.at} ${damage.what}`);
  return versions;
}

/** Checks all superseded contents against their hashes, and then applies the policy on secrets. */
async function checkContents(
  query: QueryExecutor,
  tenant: string,
  inspect: HistorySource['inspect'],
): Promise<void> {
  const files = readPages<{ memoryId: string }>(
    async (last) =>
      (await query(listPastFilesQuery, { tenant, after: last?.memoryId ?? FIRST_ID, limit: BATCH.rows }))
        .rows,
    BATCH.rows,
  );
  for await (const { memoryId } of files) {
    await eachContent(query, { tenant, memoryId, withContents: false });
    if (inspect === undefined) continue;
    await eachContent(query, { tenant, memoryId, withContents: true }, async (version, content) => {
      const kept = await inspect(version, content);
      if (kept !== content) await query(replaceContentQuery, { tenant, memoryId, version, content: kept });
    });
  }
}

async function eachContent(
  query: QueryExecutor,
  file: { tenant: string; memoryId: string; withContents: boolean },
  visit?: (version: string, content: string) => Promise<void>,
): Promise<void> {
  let before = LAST_ID;
  for (;;) {
    const { rows } = await query(readPastContentsQuery, { ...file, before, bytes: BATCH.bytes });
    const last = rows.at(-1);
    if (last === undefined) return;
    for (const { id, isRight, content } of rows) {
      if (!isRight) throw damagedHistory(`version ${id} lacks its content`);
      if (content !== null) await visit?.(id, content);
    }
    before = last.id;
  }
}

async function importDirectoryRows(
  query: QueryExecutor,
  tenant: string,
  rows: ArchivedDirectory[],
): Promise<void> {
  const there = rows.filter(({ removed_at }) => removed_at === null);
  const past = rows.filter(({ removed_at }) => removed_at !== null);
  const dated = (await query(importDirectoryTimesQuery, { tenant, rows: JSON.stringify(there) })).count;
  const made = (await query(importPastDirectoriesQuery, { tenant, rows: JSON.stringify(past) })).rows;
  if (dated < there.length) throw damagedHistory('a directory is not in the memory');
  if (made.length < past.length) throw damagedHistory('a past directory is there twice');
}
