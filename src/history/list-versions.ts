import { defineQuery, type QueryExecutor } from '../postgres/query.ts';
import { AFTER, COLUMNS, FIRST_ID, isBy, LAST_ID, SOURCE, type VersionRow } from './version.ts';

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
  /** Those at a path that contains the text, in upper or lower case, and those that moved a file away from such a path. */
  pathContains: string | null;
  memoryId: string | null;
  since: string | null;
  until: string | null;
  /**
   * A key's id or label, a JWT's subject, an operator's or a job's name, or `operator` or `anonymous`; the id of a draft; or `source:` and the
   * source of a key. Who approved a change counts as who made it.
   */
  by: string | null;
  /** Those by an actor whose type and names contain the text, in upper or lower case. */
  byContains: string | null;
  operation: string | null;
};

/** Whether a version `v` replaced one, `before`, for which a condition holds: a move is found by its old path too. */
const HAS_LEFT = (condition: string) => `(v.operation IN ('renamed', 'modified') AND (
      SELECT before.superseded_at = v.created_at AND ${condition} FROM versions AS before
      WHERE before.tenant_id = $1 AND before.memory_id = v.memory_id AND before.id < v.id
      ORDER BY before.memory_id DESC, before.id DESC LIMIT 1
    ))`;

type Params = { tenant: string } & VersionFilter & { beforeId: string | null; limit: number };
const PARAMETERS = [
  'tenant',
  'path',
  'memoryId',
  'since',
  'until',
  'by',
  'operation',
  'beforeId',
  'limit',
  'pathContains',
  'byContains',
] as const;

/**
 * A page of versions, the newest first: those before `beforeId`. Ids begin with the time. A directory's versions include those that moved
 * a file out of it. Only files that were ever there can have such versions, which rules out most rows at little cost.
 */
const selectVersions = (files: string) => `
SELECT ${COLUMNS} FROM (
  SELECT v.* FROM memory_versions AS v
  WHERE v.tenant_id = $1${files}
    AND v.id >= COALESCE(memory_first_id($4::text::timestamptz), '${FIRST_ID}')
    AND v.id < COALESCE($8::text::uuid, '${LAST_ID}') AND v.id < COALESCE(${AFTER('$5')}, '${LAST_ID}')
    AND ($2::text IS NULL OR v.memory_id IN (
      SELECT there.memory_id FROM memory_versions AS there WHERE there.tenant_id = $1 AND memory_in_subtree(there.path, $2::text)
    ))
    AND ($2::text IS NULL OR memory_in_subtree(v.path, $2::text) OR v.memory_id IN (
      SELECT named.memory_id FROM memory_versions AS named WHERE named.tenant_id = $1 AND named.path = $2::text
    ) OR ${HAS_LEFT('memory_in_subtree(before.path, $2::text)')})
    AND ($10::text IS NULL OR v.memory_id IN (
      SELECT there.memory_id FROM memory_versions AS there WHERE there.tenant_id = $1 AND ${contains('there.path', '$10')}
    ))
    AND ($10::text IS NULL OR ${contains('v.path', '$10')} OR ${HAS_LEFT(contains('before.path', '$10'))})
    AND ($11::text IS NULL OR ${contains(ACTOR_NAMES('v.origin'), '$11')})
    AND ($3::text IS NULL OR v.memory_id = $3::text::uuid)
    AND ($6::text IS NULL OR ${isBy('v.origin', '$6')})
    AND ($7::text IS NULL OR v.operation = $7::text)
  ORDER BY v.id DESC LIMIT $9::integer
) AS v
ORDER BY v.id DESC
`;

const listVersionsQuery = defineQuery<Params, VersionRow>(
  'list_versions',
  [...PARAMETERS],
  selectVersions(''),
);

/** The same of a few files, by their ids: without a walk through the versions of all the others. */
const listVersionsOfFilesQuery = defineQuery<Params & { memoryIds: string[] }, VersionRow>(
  'list_versions_of_files',
  [...PARAMETERS, 'memoryIds'],
  selectVersions(' AND v.memory_id = ANY ($12::text[]::uuid[])'),
);

/** As many versions are looked at to find out which files were ever at a path or below it. */
const MAX_SEEN = 10_000;
const MAX_FILES = 100;

const findFilesQuery = defineQuery<
  { tenant: string; path: string; limit: number },
  { memoryId: string; versions: number }
>(
  'find_files_below',
  ['tenant', 'path', 'limit'],
  `
SELECT seen.memory_id AS "memoryId", count(*)::integer AS versions FROM (
  SELECT v.memory_id FROM memory_versions AS v WHERE v.tenant_id = $1 AND memory_in_subtree(v.path, $2::text) LIMIT $3::integer
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

/** At most `limit` versions, the newest first: those before the one with the id `before`, or the first. Throws `DatabaseError`. */
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
