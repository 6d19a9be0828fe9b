import type { Database } from '../database/database.ts';
import { defineQuery, type QueryExecutor } from '../database/query.ts';
import { ServiceError } from '../errors/errors.ts';
import {
  AFTER,
  COLUMNS,
  FIRST_ID,
  isBy,
  isFullVersionId,
  LAST_ID,
  SOURCE,
  type Version,
  type VersionRow,
  versionOf,
} from './version.ts';

/** Whether a text, in upper or lower case, is part of another. */
const contains = (text: string, part: string) =>
  `strpos(lower(${text} COLLATE "default"), lower(${part}::text COLLATE "default")) > 0`;

/** The type and the names of an origin's actor. */
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

/** What a list of versions is narrowed to; null: not by that. */
export type VersionFilter = {
  /** Those at the path or below it, and all of a file that was ever at the path. */
  path: string | null;
  /**
   * Those at a path that contains the text, in upper or lower case, and those that moved a file away from such a
   * path.
   */
  pathContains: string | null;
  memoryId: string | null;
  since: string | null;
  until: string | null;
  /**
   * A key's id or label, a JWT's subject, an operator's or a job's name, or `operator` or `anonymous`; the id of a
   * draft; or `source:` and the source of a key. Who approved a change counts as who made it.
   */
  by: string | null;
  /** Those by an actor whose type and names contain the text, in upper or lower case. */
  byContains: string | null;
  operation: string | null;
};

/** Whether a version `v` replaced one, `before`, for which a condition holds: a move is found by its old path too. */
const HAS_LEFT = (condition: string) => `(v.operation IN ('renamed', 'modified') AND (
      SELECT before.superseded_at = v.created_at AND ${condition} FROM versions AS before
      WHERE before.tenant_id = $tenant AND before.memory_id = v.memory_id AND before.id < v.id
      ORDER BY before.memory_id DESC, before.id DESC LIMIT 1
    ))`;

type Params = { tenant: string } & VersionFilter & { beforeId: string | null; limit: number };

/**
 * A page of versions, the newest first: those before `beforeId`. Ids begin with the time. A directory's versions
 * include those that moved a file out of it. Only files that were ever there can have such versions, which rules out
 * most rows at little cost.
 */
const selectVersions = (files: string) => `
SELECT ${COLUMNS} FROM (
  SELECT v.* FROM memory_versions AS v
  WHERE v.tenant_id = $tenant${files}
    AND v.id >= COALESCE(memory_first_id($since::text::timestamptz), '${FIRST_ID}')
    AND v.id < COALESCE($beforeId::text::uuid, '${LAST_ID}') AND v.id < COALESCE(${AFTER('$until')}, '${LAST_ID}')
    AND ($path::text IS NULL OR v.memory_id IN (
      SELECT there.memory_id FROM memory_versions AS there WHERE there.tenant_id = $tenant AND memory_in_subtree(there.path, $path::text)
    ))
    AND ($path::text IS NULL OR memory_in_subtree(v.path, $path::text) OR v.memory_id IN (
      SELECT named.memory_id FROM memory_versions AS named WHERE named.tenant_id = $tenant AND named.path = $path::text
    ) OR ${HAS_LEFT('memory_in_subtree(before.path, $path::text)')})
    AND ($pathContains::text IS NULL OR v.memory_id IN (
      SELECT there.memory_id FROM memory_versions AS there WHERE there.tenant_id = $tenant AND ${contains('there.path', '$pathContains')}
    ))
    AND ($pathContains::text IS NULL OR ${contains('v.path', '$pathContains')} OR ${HAS_LEFT(contains('before.path', '$pathContains'))})
    AND ($byContains::text IS NULL OR ${contains(ACTOR_NAMES('v.origin'), '$byContains')})
    AND ($memoryId::text IS NULL OR v.memory_id = $memoryId::text::uuid)
    AND ($by::text IS NULL OR ${isBy('v.origin', '$by')})
    AND ($operation::text IS NULL OR v.operation = $operation::text)
  ORDER BY v.id DESC LIMIT $limit::integer
) AS v
ORDER BY v.id DESC
`;

const listVersionsQuery = defineQuery<Params, VersionRow>('list_versions', selectVersions(''));

/** The same of a few files, by their ids: without a walk through the versions of all the others. */
const listVersionsOfFilesQuery = defineQuery<Params & { memoryIds: string[] }, VersionRow>(
  'list_versions_of_files',
  selectVersions(' AND v.memory_id = ANY ($memoryIds::text[]::uuid[])'),
);

/** As many versions are looked at to find out which files were ever at a path or below it. */
const MAX_SEEN = 10_000;
const MAX_FILES = 100;

const findFilesQuery = defineQuery<
  { tenant: string; path: string; limit: number },
  { memoryId: string; versions: number }
>(
  'find_files_below',
  `
SELECT seen.memory_id AS "memoryId", count(*)::integer AS versions FROM (
  SELECT v.memory_id FROM memory_versions AS v WHERE v.tenant_id = $tenant AND memory_in_subtree(v.path, $path::text) LIMIT $limit::integer
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
 * At most `limit` versions, the newest first: those before the one with the id `before`, or the first. Throws
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
  const memoryIds = await fewFilesOf(query, tenant, params);
  if (memoryIds === undefined) return (await query(listVersionsQuery, params)).rows;
  return (await query(listVersionsOfFilesQuery, { ...params, memoryIds })).rows;
}

/** The files that a filter names, or that were ever at its path or below it; undefined when they may be many. */
async function fewFilesOf(
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

/** Contents of versions, by their numbers in the arrays, from 1; null where there is none. */
export const readContentsQuery = defineQuery<
  { tenant: string; memoryIds: string[]; ids: string[] },
  { item: number; content: string | null }
>(
  'read_contents',
  'SELECT item, content FROM memory_contents($tenant, $memoryIds::text[]::uuid[], $ids::text[]::uuid[])',
);

const PAGE = 500;

/**
 * The versions of tenants. Reads only, and takes no lock. A time is ISO 8601, to the microsecond; what was changed at
 * that very time counts. Throws `DatabaseError`.
 */
export class History {
  readonly query: QueryExecutor;

  /** @param database or a transaction, for all of it as it is at one moment */
  constructor({ query }: Pick<Database, 'query'>) {
    this.query = query;
  }

  /** The versions that there are, the newest first and at most `limit`, read page by page. */
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

  /** At most `limit` versions, the newest first: those before the one with the id `before`, or the first. */
  async versionsPage(
    tenant: string,
    filter: Partial<VersionFilter>,
    before: string | null,
    limit: number,
  ): Promise<Version[]> {
    return (await listVersions(this.query, tenant, filter, before, limit)).map(versionOf);
  }

  /**
   * A version with its content, which is null for a deleted or redacted one.
   *
   * @throws ServiceError when there is no such version.
   */
  async existing(tenant: string, id: string): Promise<{ version: Version; content: string | null }> {
    const version = await this.existingVersion(tenant, id);
    return { version, content: await this.content(tenant, version) };
  }

  /** @throws ServiceError when there is no such version. */
  async existingVersion(tenant: string, id: string): Promise<Version> {
    const version = await this.find(tenant, id);
    if (version === undefined) throw new ServiceError('no_such_version', tenant, id);
    return version;
  }

  async find(tenant: string, id: string): Promise<Version | undefined> {
    const [row] = isFullVersionId(id) ? (await this.query(findVersionQuery, { tenant, id })).rows : [];
    return row && versionOf(row);
  }

  /** Contents by the ids of their versions; none for those that are gone. */
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

  /** The content of a version; null for a deleted or redacted one. */
  async content(tenant: string, { id, memoryId }: Version): Promise<string | null> {
    const contents = await this.contents(tenant, [{ memoryId, versionId: id }]);
    return contents.get(id) ?? null;
  }
}
