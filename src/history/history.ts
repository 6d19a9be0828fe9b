import { ServiceError } from '../errors.ts';
import type { Database } from '../postgres/database.ts';
import { defineQuery, type QueryExecutor } from '../postgres/query.ts';
import { listVersions, type VersionFilter } from './list-versions.ts';
import { COLUMNS, isFullVersionId, type Version, type VersionRow, versionOf } from './version.ts';

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

const PAGE = 500;

/**
 * The versions of tenants. Reads only, and takes no lock. A time is ISO 8601, to the microsecond; what was changed at that very time
 * counts. Throws `DatabaseError`.
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
