import type { Database } from '../database/database.ts';
import { defineQuery, type QueryExecutor, time } from '../database/query.ts';
import { ServiceError } from '../errors/errors.ts';
import { createTenantQuery, lockTenantQuery } from './queries.ts';

/** What the Memory Stores API says of a tenant; times in ISO 8601. */
export interface StoreRow {
  id: string;
  name: string;
  description: string;
  metadata: Record<string, string>;
  createdAt: string;
  updatedAt: string;
  /** Null while files may be changed. */
  archivedAt: string | null;
}

const COLUMNS = `id, COALESCE(name, id) AS name, description, metadata, ${time('created_at')} AS "createdAt",
  ${time('updated_at')} AS "updatedAt", ${time('archived_at')} AS "archivedAt"`;

export const findStoreQuery = defineQuery<{ tenant: string }, StoreRow>(
  'find_store',
  `SELECT ${COLUMNS} FROM tenants WHERE id = $tenant`,
);

/**
 * A page of the stores, the newest first: those before `beforeTime` and, of one time, `beforeId`. Null: no condition.
 */
export const listStoresQuery = defineQuery<
  {
    beforeTime: string | null;
    beforeId: string | null;
    since: string | null;
    until: string | null;
    includeArchived: boolean;
    limit: number;
  },
  StoreRow
>(
  'list_stores',
  `
SELECT ${COLUMNS} FROM tenants
WHERE (created_at, id) < (COALESCE($beforeTime::text::timestamptz, 'infinity'), COALESCE($beforeId::text, ''))
  AND created_at >= COALESCE($since::text::timestamptz, '-infinity') AND created_at <= COALESCE($until::text::timestamptz, 'infinity')
  AND (archived_at IS NULL OR $includeArchived::boolean) AND draft_of IS NULL
ORDER BY tenants.created_at DESC, id DESC LIMIT $limit::integer
`,
);

export const setStoreQuery = defineQuery<{
  tenant: string;
  name: string;
  description: string;
  metadata: string;
}>(
  'set_store',
  'UPDATE tenants SET name = $name, description = $description, metadata = $metadata::text::jsonb, updated_at = now() WHERE id = $tenant',
);

/** Archives a store, unless it is archived. */
export const archiveStoreQuery = defineQuery<{ tenant: string }>(
  'archive_store',
  'UPDATE tenants SET archived_at = now(), updated_at = now() WHERE id = $tenant AND archived_at IS NULL',
);

/** Archives the drafts of a tenant. */
export const archiveDraftsQuery = defineQuery<{ tenant: string }>(
  'archive_drafts',
  'UPDATE tenants SET archived_at = now() WHERE draft_of = $tenant AND archived_at IS NULL',
);

/** Gives a tenant what the API says of another one. Null is the name of a tenant that has none but its id. */
export const copyStoreQuery = defineQuery<{
  tenant: string;
  name: string | null;
  description: string;
  metadata: string;
  archivedAt: string | null;
  updatedAt: string;
}>(
  'copy_store',
  `
UPDATE tenants SET name = $name, description = $description, metadata = $metadata::text::jsonb, archived_at = $archivedAt::text::timestamptz,
  updated_at = $updatedAt::text::timestamptz
WHERE id = $tenant
`,
);

/** What people say of a store. */
export type StoreDetails = Pick<StoreRow, 'name' | 'description' | 'metadata'>;

/** What changes of that; metadata by pairs, where null removes one. */
export interface StoreDetailsChange {
  name?: string | null | undefined;
  description?: string | null | undefined;
  metadata?: Record<string, string | null> | null | undefined;
}

export const MAX_METADATA = 16;

/** @throws ServiceError when there would be too many pairs of metadata. */
export function mergeDetails(before: StoreDetails, change: StoreDetailsChange): StoreDetails {
  const pairs = new Map<string, string | null>(Object.entries(before.metadata));
  for (const [key, value] of Object.entries(change.metadata ?? {})) pairs.set(key, value);
  const kept = [...pairs].filter((pair): pair is [string, string] => pair[1] !== null);
  if (kept.length > MAX_METADATA) throw new ServiceError('too_much_metadata', MAX_METADATA);
  return {
    name: change.name ?? before.name,
    description: change.description ?? before.description,
    metadata: Object.fromEntries(kept),
  };
}

/** Where a page of stores ends. */
export interface StorePosition {
  time: string;
  id: string;
}

/** Which stores are listed; times in ISO 8601, both included. */
export interface StoreFilter {
  since: string | null;
  until: string | null;
  includeArchived: boolean;
}

/** The tenants as the Memory Stores API has them: a store is a tenant. Throws `DatabaseError`. */
export class Stores {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  async find(id: string): Promise<StoreRow | undefined> {
    return (await this.#database.query(findStoreQuery, { tenant: id })).rows[0];
  }

  /** A page of the stores, the newest first. `next` is where the next page begins, null after the last. */
  async list(
    filter: StoreFilter,
    before: StorePosition | null,
    limit: number,
  ): Promise<{ stores: StoreRow[]; next: StorePosition | null }> {
    const position = { beforeTime: before?.time ?? null, beforeId: before?.id ?? null };
    const { rows } = await this.#database.query(listStoresQuery, {
      ...filter,
      ...position,
      limit: limit + 1,
    });
    const last = rows[limit - 1];
    const next = rows.length > limit && last !== undefined ? { time: last.createdAt, id: last.id } : null;
    return { stores: rows.slice(0, limit), next };
  }

  /** @throws ServiceError when there is a tenant with this id. */
  create(id: string, details: StoreDetails): Promise<StoreRow> {
    return this.#database.transaction(async (query) => {
      if ((await query(createTenantQuery, { tenant: id })).count === 0)
        throw new ServiceError('tenant_exists', id);
      await query(setStoreQuery, paramsOf(id, details));
      return existing(query, id);
    });
  }

  /**
   * Changes what people say of a store. What does not change is not written.
   *
   * @param change returns the new details; it may throw
   * @throws ServiceError when there is no such store, or it is archived.
   */
  update(id: string, change: (before: StoreDetails) => StoreDetails): Promise<StoreRow> {
    return this.#database.transaction(async (query) => {
      await query(lockTenantQuery, { tenant: id });
      const before = await existing(query, id);
      if (before.archivedAt !== null) throw new ServiceError('tenant_archived', id);
      const after = change(before);
      if (isSame(before, after)) return before;
      await query(setStoreQuery, paramsOf(id, after));
      return existing(query, id);
    });
  }

  /**
   * Archives a store with its drafts for good; an archived one stays as it is.
   *
   * @throws ServiceError when there is no such store.
   */
  async archive(id: string): Promise<StoreRow> {
    return this.#database.transaction(async (query) => {
      await query(archiveStoreQuery, { tenant: id });
      await query(archiveDraftsQuery, { tenant: id });
      return existing(query, id);
    });
  }
}

/** For changes that are not a write function: refuses a tenant that is archived. The caller has locked it. */
export async function refuseArchived(query: QueryExecutor, tenant: string): Promise<void> {
  const [row] = (await query(findStoreQuery, { tenant })).rows;
  if (row !== undefined && row.archivedAt !== null) throw new ServiceError('tenant_archived', tenant);
}

/** Gives the tenant `to` what the API says of another one. */
export async function copyStore(query: QueryExecutor, from: string, to: string): Promise<void> {
  const { id, name, metadata, description, archivedAt, updatedAt } = await existing(query, from);
  await query(copyStoreQuery, {
    tenant: to,
    description,
    archivedAt,
    updatedAt,
    name: name === id ? null : name,
    metadata: JSON.stringify(metadata),
  });
}

/** Changes what people say of a tenant, in a transaction that has locked it. */
export async function setDetails(
  query: QueryExecutor,
  id: string,
  change: StoreDetailsChange,
): Promise<void> {
  await query(setStoreQuery, paramsOf(id, mergeDetails(await existing(query, id), change)));
}

async function existing(query: QueryExecutor, id: string): Promise<StoreRow> {
  const [row] = (await query(findStoreQuery, { tenant: id })).rows;
  if (row === undefined) throw new ServiceError('unknown_tenant', id);
  return row;
}

function paramsOf(id: string, { name, description, metadata }: StoreDetails) {
  return { tenant: id, name, description, metadata: JSON.stringify(metadata) };
}

function isSame(before: StoreDetails, after: StoreDetails): boolean {
  const pairs = ({ metadata }: StoreDetails) => JSON.stringify(Object.entries(metadata).sort());
  return (
    before.name === after.name && before.description === after.description && pairs(before) === pairs(after)
  );
}
