import type { Database } from '../database/database.ts';
import { defineQuery, time } from '../database/query.ts';
import { ServiceError } from '../errors/errors.ts';
import { batches } from '../lib/pages.ts';
import { timeSliced } from '../lib/time-slice.ts';
import { resultRedacted } from '../memory/messages.ts';
import { type Origin, storedActor } from '../memory/origin.ts';
import type { MemoryPath } from '../memory/path.ts';
import { listDraftTenantsQuery } from '../tenants/queries.ts';
import type { History } from './history.ts';
import { isFullVersionId, type Version } from './version.ts';

interface EraseRow {
  outcome: 'missing' | 'live' | 'redacted';
  /** The head version of the live file that has the content. */
  head: string | null;
  versions: number;
  samePath: number;
  redactedAt: string | null;
}

/** Erases a version: see migrations/functions/memory_redact.sql. `by` is the actor, as JSON. */
const eraseVersionQuery = defineQuery<{ tenant: string; version: string; by: string }, EraseRow>(
  'redact_version',
  `
SELECT outcome, head, versions::float8, same_path::float8 AS "samePath", ${time('redacted_at')} AS "redactedAt"
FROM memory_redact($tenant, $version::text::uuid, $by::text::jsonb)
`,
);

/** Erases the names of directories that are gone: see migrations/functions/memory_redact.sql. */
const eraseDirectoriesQuery = defineQuery<
  { tenant: string; path: string; dryRun: boolean },
  {
    outcome: 'missing' | 'live' | 'kept' | 'redacted';
    /** The version that has to be erased first. */
    version: string | null;
    directories: number;
    redactedAt: string | null;
  }
>(
  'redact_directories',
  `
SELECT outcome, version, directories::float8, ${time('redacted_at')} AS "redactedAt"
FROM memory_redact_directories($tenant, $path, $dryRun::boolean)
`,
);

/**
 * Replaces up to so many of a tenant's stored results by another text, in the order of their keys, after the key
 * `after`. The hashes of their requests go, too: what is short could be found by trying.
 */
const eraseResultsQuery = defineQuery<
  { tenant: string; after: string; until: string; text: string; limit: number },
  { last: string | null; redacted: number }
>(
  'redact_stored_results',
  `
WITH redacted AS (
  UPDATE idempotency_keys SET content = $text, request_hash = '' WHERE tenant_id = $tenant AND key_hash = ANY (ARRAY(
    SELECT key_hash FROM idempotency_keys
    WHERE tenant_id = $tenant AND key_hash > $after AND created_at <= $until::text::timestamptz AND (content <> $text OR request_hash <> '')
    ORDER BY key_hash LIMIT $limit::integer
  ))
  RETURNING key_hash
)
SELECT max(key_hash) AS last, count(*)::float8 AS redacted FROM redacted
`,
);

const findFileOfVersionQuery = defineQuery<{ tenant: string; version: string }, { memoryId: string }>(
  'find_file_of_version',
  'SELECT memory_id::text AS "memoryId" FROM versions WHERE tenant_id = $tenant AND id = $version::text::uuid',
);

/** Whether a tenant has a content of a file, live or in its history. */
const hasContentQuery = defineQuery<{ tenant: string; memoryId: string }, { found: boolean }>(
  'has_content_of_file',
  `
SELECT EXISTS (
  SELECT FROM memory_versions AS v
  WHERE v.tenant_id = $tenant AND v.memory_id = $memoryId::text::uuid AND v.operation <> 'deleted' AND v.redacted_at IS NULL
) AS found
`,
);

/** Small, so that a statement takes far less than its time limit. */
const RESULTS_A_BATCH = 2000;

export interface ErasedVersion {
  /** Versions that were erased: the one asked for, and those with the same content. 0 when it was erased before. */
  versions: number;
  /** Superseded versions that still have a path that was erased. */
  samePath: number;
  /** Stored results that were erased. */
  storedResults: number;
  /**
   * The ids of open drafts of the tenant that have the file: they are memories of their own, and keep what they have
   * of it.
   */
  drafts: string[];
}

/**
 * Removes path and content of a superseded version for good, and all stored results of the tenant: any of them may
 * quote a part of the content. When that is cut short, erase the version again.
 *
 * @throws ServiceError when there is no such version, or a live file has it or its content
 */
export async function eraseVersion(
  database: Database,
  tenant: string,
  version: string,
  origin: Origin,
): Promise<ErasedVersion> {
  const params = { tenant, version, by: storedActor(origin.actor) };
  const row = isFullVersionId(version)
    ? (await database.query(eraseVersionQuery, params)).rows[0]
    : undefined;
  if (row?.outcome === 'live') throw new ServiceError('version_is_live', version, row.head);
  if (row?.outcome !== 'redacted' || row.redactedAt === null)
    throw new ServiceError('no_such_version', tenant, version);
  const storedResults = await eraseResults(database, tenant, row.redactedAt);
  const drafts = await draftsWithFile(database, tenant, version);
  return { versions: row.versions, samePath: row.samePath, storedResults, drafts };
}

async function draftsWithFile(database: Database, tenant: string, version: string): Promise<string[]> {
  const [file] = (await database.query(findFileOfVersionQuery, { tenant, version })).rows;
  if (file === undefined) return [];
  const found: string[] = [];
  for (const { id } of (await database.query(listDraftTenantsQuery, { tenant })).rows) {
    if ((await database.query(hasContentQuery, { tenant: id, ...file })).rows[0]?.found) found.push(id);
  }
  return found.sort();
}

/**
 * Removes for good the names of the directories that were at a path and below it, and all stored results of the
 * tenant. Names of directories that held files go when the files' versions are erased; this is for those that held
 * none.
 *
 * @returns how many were erased: a directory that was there twice counts twice
 * @throws ServiceError when there was no such directory, something is at the path, or a version that was there is
 *   still kept
 */
export async function eraseDirectories(
  database: Database,
  tenant: string,
  path: MemoryPath,
): Promise<{ directories: number; storedResults: number }> {
  // The results first: without the directories, this could not be done again if it were cut short.
  const { redactedAt } = await callEraseDirectories(database, tenant, path, true);
  const storedResults = await eraseResults(database, tenant, redactedAt);
  const { directories } = await callEraseDirectories(database, tenant, path, false);
  return { directories, storedResults };
}

/** How many directories `eraseDirectories` would erase. Throws what that throws. */
export async function countErasableDirectories(
  database: Database,
  tenant: string,
  path: MemoryPath,
): Promise<number> {
  return (await callEraseDirectories(database, tenant, path, true)).directories;
}

async function callEraseDirectories(database: Database, tenant: string, path: MemoryPath, dryRun: boolean) {
  const row = (await database.query(eraseDirectoriesQuery, { tenant, path, dryRun })).rows[0];
  if (row?.outcome === 'live') throw new ServiceError('directory_exists', path);
  if (row?.outcome === 'kept') throw new ServiceError('directory_has_versions', path, row.version);
  if (row?.outcome !== 'redacted' || row.redactedAt === null) {
    throw new ServiceError('no_such_directory', tenant, path);
  }
  return { directories: row.directories, redactedAt: row.redactedAt };
}

/** Erases the results that were stored until a time; a later one cannot quote what was gone by then. */
async function eraseResults(database: Database, tenant: string, until: string): Promise<number> {
  let erased = 0;
  for (let after = ''; ; ) {
    const params = { tenant, after, until, text: resultRedacted, limit: RESULTS_A_BATCH };
    const [batch] = (await database.query(eraseResultsQuery, params)).rows;
    if (batch === undefined || batch.last === null) return erased;
    erased += batch.redacted;
    after = batch.last;
  }
}

const BATCH = { items: 100, weight: 4 * 1024 * 1024 };

/** A version that erasing another one leaves, although it may hold some of what is to go. */
export interface RemainingVersion {
  version: Version;
  isLive: boolean;
  /** Of the same file. */
  isSameFile: boolean;
  /** It has a path that is erased. */
  hasPath: boolean;
  /** How many different lines of the content are in its own, without blank ones and spaces around them. */
  sharedLines: number;
}

/** A part of what erasing a version would do. */
export interface ErasurePage {
  /** The version and those of the file with the same content. None when it is erased already. */
  redacted: Version[];
  /** Other versions of the file, and those of other files with a path or a line of it. */
  remaining: RemainingVersion[];
  /** How many different lines the content has. */
  lines: number;
  /** The version after which the next page begins; null on the last page. */
  next: string | null;
}

/**
 * Finds what erasing a version would remove, and a page of the versions that may contain the same text or path and
 * stay. A page examines `limit` versions of the tenant, the newest first: those before the version `before`.
 *
 * @throws ServiceError when there is no such version, or a live file has it or its content
 */
export async function previewErasure(
  history: History,
  tenant: string,
  id: string,
  { before, limit }: { before: string | null; limit: number },
): Promise<ErasurePage> {
  const { version, content } = await history.existing(tenant, id);
  if (version.redactedAt !== null) return { redacted: [], remaining: [], lines: 0, next: null };
  const redacted: Version[] = [];
  for await (const each of timeSliced(history.versions(tenant, { memoryId: version.memoryId }))) {
    if (!isErasedWith(each, version)) continue;
    if (isHead(each)) throw new ServiceError('version_is_live', id, each.id);
    redacted.push(each);
  }
  const lines = await linesOf(content ?? '');
  const paths = new Set(redacted.map(({ path }) => path));
  const page = await history.versionsPage(tenant, {}, before, limit);
  const others = page.filter((each) => each.redactedAt === null && !isErasedWith(each, version));
  const remaining: RemainingVersion[] = [];
  for await (const [other, text] of withTexts(history, tenant, others)) {
    const own = await linesOf(text);
    const found = {
      version: other,
      isLive: isHead(other),
      isSameFile: other.memoryId === version.memoryId,
      hasPath: paths.has(other.path),
      sharedLines: await countShared(lines, own),
    };
    if (found.isSameFile || found.hasPath || found.sharedLines > 0) remaining.push(found);
  }
  const next = page.length < limit ? null : (page.at(-1)?.id ?? null);
  return { redacted, remaining, lines: lines.size, next };
}

/** Reads the contents of versions, a batch at a time; '' for a deletion. */
async function* withTexts(
  history: History,
  tenant: string,
  versions: Iterable<Version>,
): AsyncGenerator<[Version, string]> {
  const weightOf = ({ contentSizeBytes }: Version) => contentSizeBytes ?? 0;
  for await (const batch of batches(timeSliced(versions), { ...BATCH, weightOf })) {
    const files = batch.filter(({ contentSha256 }) => contentSha256 !== null);
    const contents = await history.contents(
      tenant,
      files.map(({ id: versionId, memoryId }) => ({ memoryId, versionId })),
    );
    for (const version of batch) yield [version, contents.get(version.id) ?? ''];
  }
}

const isHead = ({ supersededAt, operation }: Version) => supersededAt === null && operation !== 'deleted';

function isErasedWith(version: Version, chosen: Version): boolean {
  if (version.id === chosen.id) return true;
  const { memoryId, contentSha256 } = chosen;
  return contentSha256 !== null && version.memoryId === memoryId && version.contentSha256 === contentSha256;
}

/** The different lines of a content, without blank ones and the spaces around them. */
async function linesOf(content: string): Promise<Set<string>> {
  const lines = new Set<string>();
  for await (const line of timeSliced(linesIn(content))) if (line !== '') lines.add(line);
  return lines;
}

function* linesIn(content: string): Generator<string> {
  for (let start = 0; start <= content.length; ) {
    const newline = content.indexOf('\n', start);
    const end = newline === -1 ? content.length : newline;
    yield content.slice(start, end).trim();
    start = end + 1;
  }
}

async function countShared(lines: ReadonlySet<string>, others: ReadonlySet<string>): Promise<number> {
  let shared = 0;
  for await (const line of timeSliced(lines)) if (others.has(line)) shared++;
  return shared;
}
