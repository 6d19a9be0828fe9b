import { OperatorError } from '../errors.ts';
import { type MemoryPath, ROOT } from '../memory/path.ts';
import type { Database } from '../postgres/database.ts';
import { defineQuery, type QueryExecutor } from '../postgres/query.ts';
import { time } from '../postgres/time.ts';
import { readPages } from '../util/pages.ts';
import { shownTime } from './time.ts';
import {
  AFTER,
  COLUMNS,
  COVERS,
  FIRST_ID,
  isBy,
  isFullVersionId,
  LAST_ID,
  noVersion,
  type Version,
  type VersionRow,
  versionOf,
} from './version.ts';

/** What a list of versions is narrowed to; null: not by that. */
export type VersionFilter = {
  /** Those at the path or below it, and all of a file that was ever at the path. */
  path: string | null;
  memoryId: string | null;
  since: string | null;
  until: string | null;
  /** A key's id or label, a JWT's subject, an operator's or a job's name, or `operator` or `anonymous`. */
  by: string | null;
  operation: string | null;
};

/**
 * A page of versions, the newest first: those before `beforeId`. Ids begin with the time. A directory's versions include those that moved
 * a file out of it. Only files that were ever there can have such versions, which rules out most rows at little cost.
 */
const listVersionsQuery = defineQuery<
  { tenant: string } & VersionFilter & { beforeId: string | null; limit: number },
  VersionRow
>(
  'list_versions',
  ['tenant', 'path', 'memoryId', 'since', 'until', 'by', 'operation', 'beforeId', 'limit'],
  `
SELECT ${COLUMNS} FROM (
  SELECT v.* FROM memory_versions AS v
  WHERE v.tenant_id = $1
    AND v.id >= COALESCE(memory_first_id($4::text::timestamptz), '${FIRST_ID}')
    AND v.id < COALESCE($8::text::uuid, '${LAST_ID}') AND v.id < COALESCE(${AFTER('$5')}, '${LAST_ID}')
    AND ($2::text IS NULL OR v.memory_id IN (
      SELECT there.memory_id FROM memory_versions AS there WHERE there.tenant_id = $1 AND memory_in_subtree(there.path, $2::text)
    ))
    AND ($2::text IS NULL OR memory_in_subtree(v.path, $2::text) OR v.memory_id IN (
      SELECT named.memory_id FROM memory_versions AS named WHERE named.tenant_id = $1 AND named.path = $2::text
    ) OR (v.operation IN ('renamed', 'modified') AND (
      SELECT before.superseded_at = v.created_at AND memory_in_subtree(before.path, $2::text) FROM versions AS before
      WHERE before.tenant_id = $1 AND before.memory_id = v.memory_id AND before.id < v.id
      ORDER BY before.memory_id DESC, before.id DESC LIMIT 1
    )))
    AND ($3::text IS NULL OR v.memory_id = $3::text::uuid)
    AND ($6::text IS NULL OR ${isBy('v.origin', '$6')})
    AND ($7::text IS NULL OR v.operation = $7::text)
  ORDER BY v.id DESC LIMIT $9::integer
) AS v
ORDER BY v.id DESC
`,
);

const findVersionQuery = defineQuery<{ tenant: string; id: string }, VersionRow>(
  'find_version',
  ['tenant', 'id'],
  `SELECT ${COLUMNS} FROM memory_versions AS v WHERE v.tenant_id = $1 AND v.id = $2::text::uuid`,
);

/** Contents of versions, by their numbers in the arrays, from 1; null where there is none. */
const readContentsQuery = defineQuery<
  { tenant: string; memoryIds: string[]; ids: string[] },
  { item: number; content: string | null }
>(
  'read_contents',
  ['tenant', 'memoryIds', 'ids'],
  'SELECT item, content FROM memory_contents($1, $2::text[]::uuid[], $3::text[]::uuid[])',
);
/** Since when a tenant's history is complete, if that is later than `at`. Before the tenant existed, there was nothing to miss. */
const findGapQuery = defineQuery<{ tenant: string; at: string }, { since: string }>(
  'find_gap',
  ['tenant', 'at'],
  `
SELECT ${time('history_since')} AS since FROM tenants
WHERE id = $1 AND history_since > $2::text::timestamptz AND created_at <= $2::text::timestamptz
`,
);

/**
 * The version of the file that was at a path at a time: the last one there. Deletions do not count: one change may delete a file and put
 * another in its place.
 */
const findVersionAtQuery = defineQuery<{ tenant: string; path: string; at: string }, VersionRow>(
  'find_version_at',
  ['tenant', 'path', 'at'],
  `
SELECT ${COLUMNS} FROM (
  SELECT v.* FROM memory_versions AS v
  WHERE v.tenant_id = $1 AND v.path = $2 AND v.operation <> 'deleted' AND v.id < ${AFTER('$3')}
  ORDER BY v.id DESC LIMIT 1
) AS v
WHERE ${COVERS('v.created_at', 'v.superseded_at', '$3')}
`,
);

const findDirectoryAtQuery = defineQuery<{ tenant: string; path: string; at: string }, { path: string }>(
  'find_directory_at',
  ['tenant', 'path', 'at'],
  `
SELECT d.path FROM memory_directories AS d
WHERE d.tenant_id = $1 AND d.path = $2 AND ${COVERS('d.made_at', 'd.removed_at', '$3')}
`,
);

/** An entry of a past tree: a file's version, or a directory, of which only the path and the time are told. */
export interface TreeRow {
  path: string;
  /** Null for a directory. */
  versionId: string | null;
  memoryId: string | null;
  sizeBytes: number | null;
  /** Since when the entry was as it is told here. */
  createdAt: string;
}

/** A page of what was at a path and below it at a time, in the order of the paths. The first page comes after ''. */
const listTreeAtQuery = defineQuery<
  { tenant: string; path: string; at: string; after: string; limit: number },
  TreeRow
>(
  'list_tree_at',
  ['tenant', 'path', 'at', 'after', 'limit'],
  `
SELECT t.path, t.version_id AS "versionId", t.memory_id AS "memoryId",
  t.size_bytes AS "sizeBytes", ${time('t.created_at')} AS "createdAt"
FROM (
  SELECT v.path, v.id AS version_id, v.memory_id, v.size_bytes, v.created_at FROM memory_versions AS v
  WHERE v.tenant_id = $1 AND v.path > $4 AND memory_in_subtree(v.path, $2)
    AND ${COVERS('v.created_at', 'v.superseded_at', '$3')}
  UNION ALL
  SELECT d.path, NULL, NULL, NULL, d.made_at FROM memory_directories AS d
  WHERE d.tenant_id = $1 AND d.path > $4 AND memory_in_subtree(d.path, $2)
    AND ${COVERS('d.made_at', 'd.removed_at', '$3')}
) AS t
ORDER BY t.path LIMIT $5::integer
`,
);

/** The versions that a past tree lacks because they were redacted: their paths are gone. */
const listRedactedAtQuery = defineQuery<{ tenant: string; at: string }, { id: string }>(
  'list_redacted_at',
  ['tenant', 'at'],
  `
SELECT v.id FROM versions AS v
WHERE v.tenant_id = $1 AND v.redacted_at IS NOT NULL AND ${COVERS('v.created_at', 'v.superseded_at', '$2')}
ORDER BY v.created_at, v.id
`,
);

const PAGE = 500;

const ANY: VersionFilter = {
  path: null,
  memoryId: null,
  since: null,
  until: null,
  by: null,
  operation: null,
};

/** What was asked for may have been at that time, but the history does not go back so far. */
export class HistoryIncomplete extends OperatorError {
  constructor(tenant: string, since: string) {
    super(`The history of ${tenant} is complete since ${shownTime(since)} only. Ask for a later time.`, {
      code: 'history_incomplete',
    });
  }
}

export type FoundAt =
  | { kind: 'file'; version: Version; content: string }
  | { kind: 'dir' }
  | { kind: 'missing' };

/**
 * A tenant's versions, and its memory as it was at a time. Reads only, and takes no lock. A time is ISO 8601, to the microsecond; what
 * was changed at that very time counts. Throws `DatabaseError`.
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
    const params = { tenant, ...ANY, ...filter, beforeId: before, limit };
    return (await this.query(listVersionsQuery, params)).rows.map(versionOf);
  }

  /**
   * A version with its content, which is null for a deleted or redacted one.
   *
   * @throws OperatorError when there is no such version.
   */
  async existing(tenant: string, id: string): Promise<{ version: Version; content: string | null }> {
    return this.#withContent(tenant, await this.existingVersion(tenant, id));
  }

  /** @throws OperatorError when there is no such version. */
  async existingVersion(tenant: string, id: string): Promise<Version> {
    const [row] = isFullVersionId(id) ? (await this.query(findVersionQuery, { tenant, id })).rows : [];
    if (row === undefined) throw noVersion(tenant, id);
    return versionOf(row);
  }

  /**
   * What was at a path at a time.
   *
   * @throws HistoryIncomplete when nothing is known to have been there, at a time before the history is complete
   */
  async at(tenant: string, path: MemoryPath, at: string): Promise<FoundAt> {
    const params = { tenant, path, at };
    const row = (await this.query(findVersionAtQuery, params)).rows[0];
    if (row !== undefined) {
      const { version, content } = await this.#withContent(tenant, versionOf(row));
      if (content !== null) return { kind: 'file', version, content };
    } else if (path === ROOT || (await this.query(findDirectoryAtQuery, params)).rows.length > 0) {
      return { kind: 'dir' };
    }
    await checkComplete(this.query, tenant, at);
    return { kind: 'missing' };
  }

  /**
   * What was at a path and below it at a time, files and directories, without the root, in the order of the paths, read page by page.
   * Redacted files have no path, so they are left out: see `redactedAt`.
   *
   * @throws HistoryIncomplete for a time before the history is complete
   */
  async *treeAt(tenant: string, path: MemoryPath, at: string): AsyncGenerator<TreeRow> {
    yield* readPages<TreeRow>(
      (last) => this.treePage(tenant, path, at, { after: last?.path ?? '', limit: PAGE }),
      PAGE,
    );
  }

  /** A page of `treeAt`: at most `limit` entries after a path. */
  async treePage(
    tenant: string,
    path: MemoryPath,
    at: string,
    page: { after: string; limit: number },
  ): Promise<TreeRow[]> {
    const { rows } = await this.query(listTreeAtQuery, { tenant, path, at, ...page });
    // Afterwards: what was pruned while the page was read may be missing in it.
    await checkComplete(this.query, tenant, at);
    return rows;
  }

  /** The ids of the versions that were live at a time, and are redacted now. */
  async redactedAt(tenant: string, at: string): Promise<string[]> {
    return (await this.query(listRedactedAtQuery, { tenant, at })).rows.map(({ id }) => id);
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

  async #withContent(tenant: string, version: Version) {
    const contents = await this.contents(tenant, [{ memoryId: version.memoryId, versionId: version.id }]);
    return { version, content: contents.get(version.id) ?? null };
  }
}

/** @throws HistoryIncomplete when a file that there was at `at` may be missing in the history. */
export async function checkComplete(query: QueryExecutor, tenant: string, at: string): Promise<void> {
  const [gap] = (await query(findGapQuery, { tenant, at })).rows;
  if (gap !== undefined) throw new HistoryIncomplete(tenant, gap.since);
}
