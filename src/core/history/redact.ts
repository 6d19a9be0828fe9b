import type { Database } from '../database/database.ts';
import { defineQuery, time } from '../database/query.ts';
import { ServiceError } from '../errors/errors.ts';
import { batches } from '../lib/pages.ts';
import { isUuid } from '../lib/text-forms.ts';
import { timeSliced } from '../lib/time-slice.ts';
import { resultRedacted } from '../memory/messages.ts';
import { type Origin, storedActor } from '../memory/origin.ts';
import type { MemoryPath } from '../memory/path.ts';
import { findTenantQuery, listDraftTenantsQuery } from '../tenants/queries.ts';
import type { History } from './history.ts';
import type { Version } from './version.ts';

interface RedactVersionRow {
  outcome: 'missing' | 'live' | 'redacted';
  /** The existing file's current version that has the content. */
  head: string | null;
  versions: number;
  samePath: number;
  redactedAt: string | null;
}

/** Redacts a version: see migrations/functions/memory_redact.sql. `by` is the actor as JSON. */
const redactVersionQuery = defineQuery<{ tenant: string; version: string; by: string }, RedactVersionRow>(
  'redact_version',
  `
SELECT outcome, head, versions::float8, same_path::float8 AS "samePath", ${time('redacted_at')} AS "redactedAt"
FROM memory_redact($tenant, $version::uuid, $by::jsonb)
`,
);

/** Redacts past directory names: see migrations/functions/memory_redact.sql. */
const redactDirectoriesQuery = defineQuery<
  { tenant: string; path: string; dryRun: boolean },
  {
    outcome: 'missing' | 'live' | 'kept' | 'redacted';
    /** The version that has to be redacted first. */
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
 * Replaces a batch of a tenant's stored results with `text`, in key order, after the key `after`. Also clears the
 * request hashes, because a short request could be found by trying candidates.
 */
const redactResultsQuery = defineQuery<
  { tenant: string; after: string; until: string; text: string; limit: number },
  { last: string | null; redacted: number }
>(
  'redact_stored_results',
  `
WITH redacted AS (
  UPDATE idempotency_keys SET content = $text, request_hash = '' WHERE tenant_id = $tenant AND key_hash = ANY (ARRAY(
    SELECT key_hash FROM idempotency_keys
    WHERE tenant_id = $tenant AND key_hash > $after AND created_at <= $until::text::timestamptz
      AND (content <> $text OR request_hash <> '')
    ORDER BY key_hash LIMIT $limit::integer
  ))
  RETURNING key_hash
)
SELECT max(key_hash) AS last, count(*)::float8 AS redacted FROM redacted
`,
);

/** Deletes the comments on a tenant's drafts, because any comment may quote the content. */
const deleteCommentsQuery = defineQuery<{ tenant: string }>(
  'delete_draft_comments',
  "UPDATE drafts SET comments = '[]'::jsonb WHERE tenant_id = $tenant AND comments <> '[]'::jsonb",
);

const findVersionFileQuery = defineQuery<{ tenant: string; version: string }, { memoryId: string }>(
  'find_file_of_version',
  'SELECT memory_id::text AS "memoryId" FROM versions WHERE tenant_id = $tenant AND id = $version::text::uuid',
);

/** Whether a tenant has a file's content, in the file's current version or its history. */
const hasContentQuery = defineQuery<{ tenant: string; memoryId: string }, { found: boolean }>(
  'has_content_of_file',
  `
SELECT EXISTS (
  SELECT FROM memory_versions AS v
  WHERE v.tenant_id = $tenant AND v.memory_id = $memoryId::text::uuid AND v.operation <> 'deleted'
    AND v.redacted_at IS NULL
) AS found
`,
);

/** Small, so that each statement finishes well within its time limit. */
const RESULTS_A_BATCH = 2000;

export interface RedactedVersion {
  /**
   * Number of redacted versions: the given version and the file's versions with the same content. 0 if the version was
   * redacted before.
   */
  versions: number;
  /** Number of superseded versions that still have a redacted path. */
  samePath: number;
  /** Number of redacted stored results. */
  storedResults: number;
  /**
   * IDs of the tenant's open drafts that contain the file. A redaction does not change them, because each draft is a
   * separate memory.
   */
  drafts: string[];
}

/**
 * Permanently removes a superseded version's path and content. Also removes all the tenant's stored results and all
 * comments on its drafts, because any of them may quote the content. If the call is interrupted, repeat it.
 *
 * @throws ServiceError if the version does not exist, is current, or has the same content as the file's current version
 */
export async function eraseVersion(
  database: Database,
  tenant: string,
  version: string,
  origin: Origin,
): Promise<RedactedVersion> {
  const params = { tenant, version, by: storedActor(origin.actor) };
  const row = isUuid(version) ? (await database.query(redactVersionQuery, params)).rows[0] : undefined;
  if (row?.outcome === 'live') throw new ServiceError('version_is_live', version, row.head);
  if (row?.outcome !== 'redacted' || row.redactedAt === null)
    throw new ServiceError('no_such_version', tenant, version);
  const storedResults = await redactResults(database, tenant, row.redactedAt);
  await deleteComments(database, tenant);
  const drafts = await draftsWithFile(database, tenant, version);
  return { versions: row.versions, samePath: row.samePath, storedResults, drafts };
}

/** A draft has its comments in its original tenant's record. */
async function deleteComments({ query }: Database, tenant: string): Promise<void> {
  const [row] = (await query(findTenantQuery, { tenant })).rows;
  await query(deleteCommentsQuery, { tenant: row?.draftOf ?? tenant });
}

async function draftsWithFile(database: Database, tenant: string, version: string): Promise<string[]> {
  const [file] = (await database.query(findVersionFileQuery, { tenant, version })).rows;
  if (file === undefined) return [];
  const found: string[] = [];
  for (const { id } of (await database.query(listDraftTenantsQuery, { tenant })).rows) {
    if ((await database.query(hasContentQuery, { tenant: id, ...file })).rows[0]?.found) found.push(id);
  }
  return found.sort();
}

/**
 * Permanently removes the names of directories that were at or below a path, and all the tenant's stored results.
 * Redacting a version also removes the names of its directories. This function is for directories that never held
 * files.
 *
 * @returns counts of the redacted directories and results; a directory that existed twice counts twice
 * @throws ServiceError if no such directory existed, an entry is at the path, or a version that was at or below the
 *   path is still kept
 */
export async function eraseDirectories(
  database: Database,
  tenant: string,
  path: MemoryPath,
): Promise<{ directories: number; storedResults: number }> {
  // The results are redacted first, because a repeated call after an interruption still needs the directories.
  const { redactedAt } = await callRedactDirectories(database, tenant, path, true);
  const storedResults = await redactResults(database, tenant, redactedAt);
  await deleteComments(database, tenant);
  const { directories } = await callRedactDirectories(database, tenant, path, false);
  return { directories, storedResults };
}

/** Counts the directories that `eraseDirectories` would redact. Throws the same errors. */
export async function countErasableDirectories(
  database: Database,
  tenant: string,
  path: MemoryPath,
): Promise<number> {
  return (await callRedactDirectories(database, tenant, path, true)).directories;
}

async function callRedactDirectories(database: Database, tenant: string, path: MemoryPath, dryRun: boolean) {
  const row = (await database.query(redactDirectoriesQuery, { tenant, path, dryRun })).rows[0];
  if (row?.outcome === 'live') throw new ServiceError('directory_exists', path);
  if (row?.outcome === 'kept') throw new ServiceError('directory_has_versions', path, row.version);
  if (row?.outcome !== 'redacted' || row.redactedAt === null) {
    throw new ServiceError('no_such_directory', tenant, path);
  }
  return { directories: row.directories, redactedAt: row.redactedAt };
}

/** Redacts the results stored until a time. Later results cannot quote content that was redacted by then. */
export async function redactResults(database: Database, tenant: string, until: string): Promise<number> {
  let redacted = 0;
  for (let after = ''; ; ) {
    const params = { tenant, after, until, text: resultRedacted, limit: RESULTS_A_BATCH };
    const [batch] = (await database.query(redactResultsQuery, params)).rows;
    if (batch === undefined || batch.last === null) return redacted;
    redacted += batch.redacted;
    after = batch.last;
  }
}

const BATCH = { items: 100, weight: 4 * 1024 * 1024 };

/** A version that is kept although it may contain part of the redacted text or path. */
export interface RemainingVersion {
  version: Version;
  isLive: boolean;
  /** Whether the version belongs to the redacted file. */
  isSameFile: boolean;
  /** Whether the version has a redacted path. */
  hasPath: boolean;
  /** Number of distinct lines shared with the redacted content, ignoring blank lines and surrounding whitespace. */
  sharedLines: number;
}

/** A page in a redaction's preview. */
export interface RedactionPage {
  /** The given version and the file's versions with the same content. Empty if the version is already redacted. */
  redacted: Version[];
  /** The file's other versions, and other files' versions that share a path or a line with the redacted versions. */
  remaining: RemainingVersion[];
  /** Number of distinct lines in the content. */
  lines: number;
  /** The version after which the next page begins; null on the last page. */
  next: string | null;
}

/**
 * Lists the versions that a redaction would redact, and a page of the kept versions that may contain the same text or
 * path. A page examines `limit` versions in the tenant, newest first, starting before the version `before`.
 *
 * @throws ServiceError if the version does not exist, is current, or has the same content as the file's current version
 */
export async function previewErasure(
  history: History,
  tenant: string,
  id: string,
  { before, limit }: { before: string | null; limit: number },
): Promise<RedactionPage> {
  const { version, content } = await history.requireWithContent(tenant, id);
  if (version.redactedAt !== null) return { redacted: [], remaining: [], lines: 0, next: null };
  const redacted: Version[] = [];
  for await (const each of timeSliced(history.versions(tenant, { memoryId: version.memoryId }))) {
    if (!isRedactedWith(each, version)) continue;
    if (isHead(each)) throw new ServiceError('version_is_live', id, each.id);
    redacted.push(each);
  }
  const lines = await collectLines(content ?? '');
  const paths = new Set(redacted.map(({ path }) => path));
  const page = await history.versionsPage(tenant, {}, before, limit);
  const others = page.filter((each) => each.redactedAt === null && !isRedactedWith(each, version));
  const remaining: RemainingVersion[] = [];
  for await (const [other, text] of withTexts(history, tenant, others)) {
    const own = await collectLines(text);
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

/** Reads version contents in batches; '' for deletions. */
async function* withTexts(
  history: History,
  tenant: string,
  versions: Iterable<Version>,
): AsyncGenerator<[Version, string]> {
  const weigh = ({ contentSizeBytes }: Version) => contentSizeBytes ?? 0;
  for await (const batch of batches(timeSliced(versions), { ...BATCH, weigh })) {
    const files = batch.filter(({ contentSha256 }) => contentSha256 !== null);
    const contents = await history.contents(
      tenant,
      files.map(({ id: versionId, memoryId }) => ({ memoryId, versionId })),
    );
    for (const version of batch) yield [version, contents.get(version.id) ?? ''];
  }
}

const isHead = ({ supersededAt, operation }: Version) => supersededAt === null && operation !== 'deleted';

function isRedactedWith(version: Version, chosen: Version): boolean {
  if (version.id === chosen.id) return true;
  const { memoryId, contentSha256 } = chosen;
  return contentSha256 !== null && version.memoryId === memoryId && version.contentSha256 === contentSha256;
}

/** Returns a content's distinct lines, trimmed and without blank lines. */
async function collectLines(content: string): Promise<Set<string>> {
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
