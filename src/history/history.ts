import { OperatorError } from '../errors.ts';
import { type MemoryPath, ROOT } from '../memory/path.ts';
import type { Database } from '../postgres/database.ts';
import type { QueryExecutor } from '../postgres/query.ts';
import { readPages } from '../util/pages.ts';
import {
  type ChangedRow,
  findDirectoryAtQuery,
  findVersionAtQuery,
  listChangedQuery,
  listRedactedAtQuery,
  listTreeAtQuery,
  type TreeRow,
} from './past-queries.ts';
import {
  findGapQuery,
  findVersionQuery,
  listReplacedQuery,
  listVersionsQuery,
  type ReplacedRow,
  readContentsQuery,
  type VersionFilter,
  type VersionRow,
} from './queries.ts';
import { shownTime } from './time.ts';
import { type Version, versionOf } from './version.ts';
import { noVersion } from './version-ids.ts';

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
  readonly #database: Pick<Database, 'query'>;

  /** @param database or a transaction, for all of it as it is at one moment */
  constructor(database: Pick<Database, 'query'>) {
    this.#database = database;
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
    return (await this.#database.query(listVersionsQuery, params)).rows.map(versionOf);
  }

  /** What versions replaced, by their ids: nothing for a file's first one, or when what it replaced is no longer kept. */
  async replacedBy(tenant: string, versions: Version[]): Promise<Map<string, ReplacedRow>> {
    const { rows } = await this.#database.query(listReplacedQuery, {
      tenant,
      ids: versions.map(({ id }) => id),
      memoryIds: versions.map(({ memoryId }) => memoryId),
      times: versions.map(({ createdAt }) => createdAt),
    });
    return new Map(rows.map((row) => [row.by, row]));
  }

  /**
   * The files that differ between two times: `listChangedQuery`.
   *
   * @throws HistoryIncomplete when one of the times is before the history is complete
   */
  async changed(tenant: string, path: MemoryPath, from: string, to: string): Promise<ChangedRow[]> {
    const { rows } = await this.#database.query(listChangedQuery, { tenant, path, from, to });
    // Afterwards, as for a tree.
    for (const at of [from, to]) await this.checkComplete(tenant, at);
    return rows;
  }

  /**
   * A version with its content, which is null for a deleted or redacted one.
   *
   * @throws OperatorError when there is no such version.
   */
  async existing(tenant: string, id: string): Promise<{ version: Version; content: string | null }> {
    const found = await this.find(tenant, id);
    if (found !== undefined) return found;
    throw noVersion(tenant, id);
  }

  /** A version with its content, which is null for a deleted or redacted one; undefined when there is no such version. */
  async find(tenant: string, id: string): Promise<{ version: Version; content: string | null } | undefined> {
    const row = (await this.#database.query(findVersionQuery, { tenant, id })).rows[0];
    return row && this.#withContent(tenant, row);
  }

  /**
   * What was at a path at a time.
   *
   * @throws HistoryIncomplete when nothing is known to have been there, at a time before the history is complete
   */
  async at(tenant: string, path: MemoryPath, at: string): Promise<FoundAt> {
    const params = { tenant, path, at };
    const row = (await this.#database.query(findVersionAtQuery, params)).rows[0];
    if (row !== undefined) {
      const { version, content } = await this.#withContent(tenant, row);
      if (content !== null) return { kind: 'file', version, content };
    } else if (path === ROOT || (await this.#database.query(findDirectoryAtQuery, params)).rows.length > 0) {
      return { kind: 'dir' };
    }
    await this.checkComplete(tenant, at);
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
    const { rows } = await this.#database.query(listTreeAtQuery, { tenant, path, at, ...page });
    // Afterwards: what was pruned while the page was read may be missing in it.
    await this.checkComplete(tenant, at);
    return rows;
  }

  /** The ids of the versions that were live at a time, and are redacted now. */
  async redactedAt(tenant: string, at: string): Promise<string[]> {
    return (await this.#database.query(listRedactedAtQuery, { tenant, at })).rows.map(({ id }) => id);
  }

  /** Contents by the ids of their versions; none for those that are gone. */
  async contents(
    tenant: string,
    versions: readonly { memoryId: string; versionId: string }[],
  ): Promise<Map<string, string>> {
    if (versions.length === 0) return new Map();
    const ids = versions.map(({ versionId }) => versionId);
    const memoryIds = versions.map(({ memoryId }) => memoryId);
    const { rows } = await this.#database.query(readContentsQuery, { tenant, memoryIds, ids });
    return new Map(
      rows.flatMap(({ item, content }) => (content === null ? [] : [[ids[item - 1] ?? '', content]])),
    );
  }

  /** @throws HistoryIncomplete when a file that there was at `at` may be missing in the history. */
  async checkComplete(tenant: string, at: string): Promise<void> {
    await checkComplete(this.#database.query, tenant, at);
  }

  async #withContent(tenant: string, row: VersionRow) {
    const contents = await this.contents(tenant, [{ memoryId: row.memoryId, versionId: row.id }]);
    return { version: versionOf(row), content: contents.get(row.id) ?? null };
  }
}

/** @throws HistoryIncomplete when a file that there was at `at` may be missing in the history. */
export async function checkComplete(query: QueryExecutor, tenant: string, at: string): Promise<void> {
  const [gap] = (await query(findGapQuery, { tenant, at })).rows;
  if (gap !== undefined) throw new HistoryIncomplete(tenant, gap.since);
}
