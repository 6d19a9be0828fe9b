import { containsText, type SoughtPart } from '../database/contains-text.ts';
import type { Database } from '../database/database.ts';
import { defineQuery, type QueryExecutor } from '../database/query.ts';
import { ServiceError } from '../errors/errors.ts';
import { isUuid } from '../lib/text-forms.ts';
import { FIRST_ID, LAST_ID } from '../lib/uuids.ts';
import { AFTER, COLUMNS, isBy, SOURCE, toVersion, type Version, type VersionRow } from './version.ts';

/** SQL text with an origin's type, names, source, and draft, for substring searches. */
const ACTOR_NAMES = (origin: string) =>
  `(${[
    `COALESCE(${origin} #>> '{actor,type}', 'anonymous')`,
    ...['label', 'subject', 'name', 'job', 'id'].map(
      (name) => `COALESCE(' ' || (${origin} #>> '{actor,${name}}'), '')`,
    ),
    `COALESCE(' ${SOURCE}' || (${origin} #>> '{actor,source}'), '')`,
    ...['id', 'label', 'name'].map((name) => `COALESCE(' ' || (${origin} #>> '{approvedBy,${name}}'), '')`),
    `COALESCE(' ' || (${origin} ->> 'draft'), '')`,
  ].join(' || ')})`;

/** Filter for a list of versions. Null fields do not filter. */
export type VersionFilter = {
  /** Matches versions at or below the path, and all versions of a file that was ever at the path. */
  path: string | null;
  /**
   * Matches versions whose path contains the text, case-insensitively, and versions that moved a file away from such a
   * path.
   */
  pathContains: SoughtPart;
  memoryId: string | null;
  since: string | null;
  until: string | null;
  /**
   * Matches an actor: a key's ID or label, a JWT's subject, an operator's or job's name, `operator`, or `anonymous`.
   * Also matches a draft's ID, and `source:` followed by a key's source. A change's approver matches like its author.
   */
  by: string | null;
  /** Matches versions whose actor's type and names contain the text, case-insensitively. */
  byContains: SoughtPart;
  operation: string | null;
};

/**
 * SQL condition: whether version `v` replaced a version `before` that fulfills `condition`. Finds moves by their old
 * path.
 */
const HAS_LEFT = (condition: string) => `(v.operation IN ('renamed', 'modified') AND (
      SELECT before.superseded_at = v.created_at AND ${condition} FROM versions AS before
      WHERE before.tenant_id = $tenant AND before.memory_id = v.memory_id AND before.id < v.id
      ORDER BY before.memory_id DESC, before.id DESC LIMIT 1
    ))`;

type Params = { tenant: string } & VersionFilter & { beforeId: string | null; limit: number };

/**
 * Selects a page of versions with IDs below `beforeId`, newest first. IDs begin with the time. A directory's versions
 * include moves out of the directory. The `IN` conditions restrict the scan to files that were ever at the path,
 * because they rule out most rows at little cost.
 */
const selectVersions = (files: string) => `
SELECT ${COLUMNS} FROM (
  SELECT v.* FROM memory_versions AS v
  WHERE v.tenant_id = $tenant${files}
    AND v.id >= COALESCE(memory_first_id($since::text::timestamptz), '${FIRST_ID}')
    AND v.id < COALESCE($beforeId::text::uuid, '${LAST_ID}') AND v.id < COALESCE(${AFTER('$until')}, '${LAST_ID}')
    AND ($path::text IS NULL OR v.memory_id IN (
      SELECT there.memory_id FROM memory_versions AS there WHERE there.tenant_id = $tenant
        AND memory_in_subtree(there.path, $path::text)
    ))
    AND ($path::text IS NULL OR memory_in_subtree(v.path, $path::text) OR v.memory_id IN (
      SELECT named.memory_id FROM memory_versions AS named WHERE named.tenant_id = $tenant AND named.path = $path::text
    ) OR ${HAS_LEFT('memory_in_subtree(before.path, $path::text)')})
    AND ($pathContains::text[] IS NULL OR v.memory_id IN (
      SELECT there.memory_id FROM memory_versions AS there WHERE there.tenant_id = $tenant
        AND ${containsText('there.path', 'pathContains')}
    ))
    AND ($pathContains::text[] IS NULL OR ${containsText('v.path', 'pathContains')}
      OR ${HAS_LEFT(containsText('before.path', 'pathContains'))})
    AND ($byContains::text[] IS NULL OR ${containsText(ACTOR_NAMES('v.origin'), 'byContains')})
    AND ($memoryId::text IS NULL OR v.memory_id = $memoryId::text::uuid)
    AND ($by::text IS NULL OR ${isBy('v.origin', '$by')})
    AND ($operation::text IS NULL OR v.operation = $operation::text)
  ORDER BY v.id DESC LIMIT $limit::integer
) AS v
ORDER BY v.id DESC
`;

const listVersionsQuery = defineQuery<Params, VersionRow>('list_versions', selectVersions(''));

/** Selects versions from a few files by their IDs, without a scan through all versions in the tenant. */
const listFileVersionsQuery = defineQuery<Params & { memoryIds: string[] }, VersionRow>(
  'list_versions_of_files',
  selectVersions(' AND v.memory_id = ANY ($memoryIds::text[]::uuid[])'),
);

/** Maximum number of versions to examine when searching for the files that were ever at or below a path. */
const MAX_SEEN = 10_000;
const MAX_FILES = 100;

const findFilesQuery = defineQuery<
  { tenant: string; path: string; limit: number },
  { memoryId: string; versions: number }
>(
  'find_files_below',
  `
SELECT seen.memory_id AS "memoryId", count(*)::integer AS versions FROM (
  SELECT v.memory_id FROM memory_versions AS v WHERE v.tenant_id = $tenant
    AND memory_in_subtree(v.path, $path::text) LIMIT $limit::integer
) AS seen
GROUP BY 1
`,
);

const ANY: VersionFilter = {
  path: null,
  pathContains: null,
  memoryId: null,
  since: null,
  until: null,
  by: null,
  byContains: null,
  operation: null,
};

/**
 * Lists at most `limit` versions, newest first, starting before the version with the ID `before`. Throws
 * `DatabaseError`.
 */
export async function listVersions(
  query: QueryExecutor,
  tenant: string,
  filter: Partial<VersionFilter>,
  before: string | null,
  limit: number,
): Promise<VersionRow[]> {
  const params = { tenant, ...ANY, ...filter, beforeId: before, limit };
  const memoryIds = await findFewFiles(query, tenant, params);
  if (memoryIds === undefined) return (await query(listVersionsQuery, params)).rows;
  return (await query(listFileVersionsQuery, { ...params, memoryIds })).rows;
}

/** Finds the file IDs that can match a filter. Returns undefined if the filter may match many files. */
async function findFewFiles(
  query: QueryExecutor,
  tenant: string,
  { memoryId, path }: VersionFilter,
): Promise<string[] | undefined> {
  if (memoryId !== null) return [memoryId];
  if (path === null) return undefined;
  const { rows } = await query(findFilesQuery, { tenant, path, limit: MAX_SEEN });
  const seen = rows.reduce((sum, { versions }) => sum + versions, 0);
  return seen < MAX_SEEN && rows.length <= MAX_FILES ? rows.map((row) => row.memoryId) : undefined;
}

const findVersionQuery = defineQuery<{ tenant: string; id: string }, VersionRow>(
  'find_version',
  `SELECT ${COLUMNS} FROM memory_versions AS v WHERE v.tenant_id = $tenant AND v.id = $id::text::uuid`,
);

/**
 * Reads version contents. `item` is the position in the arrays, from 1. The content is null for versions without
 * content.
 */
export const readContentsQuery = defineQuery<
  { tenant: string; memoryIds: string[]; ids: string[] },
  { item: number; content: string | null }
>(
  'read_contents',
  'SELECT item, content FROM memory_contents($tenant, $memoryIds::text[]::uuid[], $ids::text[]::uuid[])',
);

const PAGE = 500;

/**
 * Read access to tenants' versions, without locks. Times are ISO 8601 to the microsecond and include changes made at
 * exactly that time. Methods throw `DatabaseError`.
 */
export class History {
  readonly query: QueryExecutor;

  /** @param database a database, or a transaction to read everything from one snapshot */
  constructor({ query }: Pick<Database, 'query'>) {
    this.query = query;
  }

  /** Yields at most `limit` versions, newest first, read page by page. */
  async *versions(
    tenant: string,
    filter: Partial<VersionFilter> = {},
    limit = Number.POSITIVE_INFINITY,
  ): AsyncGenerator<Version> {
    let before: string | null = null;
    for (let left = limit; left > 0; left -= PAGE) {
      const page: Version[] = await this.versionsPage(tenant, filter, before, Math.min(PAGE, left));
      yield* page;
      const last = page.at(-1);
      if (last === undefined || page.length < PAGE) return;
      before = last.id;
    }
  }

  /** Lists at most `limit` versions, newest first, starting before the version with the ID `before`. */
  async versionsPage(
    tenant: string,
    filter: Partial<VersionFilter>,
    before: string | null,
    limit: number,
  ): Promise<Version[]> {
    return (await listVersions(this.query, tenant, filter, before, limit)).map(toVersion);
  }

  /**
   * Reads a version with its content. The content is null for deletions and redacted versions.
   *
   * @throws ServiceError if the version does not exist
   */
  async requireWithContent(
    tenant: string,
    id: string,
  ): Promise<{ version: Version; content: string | null }> {
    const version = await this.requireVersion(tenant, id);
    return { version, content: await this.content(tenant, version) };
  }

  /** @throws ServiceError if the version does not exist */
  async requireVersion(tenant: string, id: string): Promise<Version> {
    const version = await this.find(tenant, id);
    if (version === undefined) throw new ServiceError('no_such_version', tenant, id);
    return version;
  }

  async find(tenant: string, id: string): Promise<Version | undefined> {
    const [row] = isUuid(id) ? (await this.query(findVersionQuery, { tenant, id })).rows : [];
    return row && toVersion(row);
  }

  /** Reads contents, keyed by version ID. Versions without a stored content are missing from the map. */
  async contents(
    tenant: string,
    versions: readonly { memoryId: string; versionId: string }[],
  ): Promise<Map<string, string>> {
    if (versions.length === 0) return new Map();
    const ids = versions.map(({ versionId }) => versionId);
    const memoryIds = versions.map(({ memoryId }) => memoryId);
    const { rows } = await this.query(readContentsQuery, { tenant, memoryIds, ids });
    return new Map(
      rows.flatMap(({ item, content }) => (content === null ? [] : [[ids[item - 1] ?? '', content]])),
    );
  }

  /** Reads a version's content; null for deletions and redacted versions. */
  async content(tenant: string, { id, memoryId }: Version): Promise<string | null> {
    const contents = await this.contents(tenant, [{ memoryId, versionId: id }]);
    return contents.get(id) ?? null;
  }
}
