import type { Database } from '../database/database.ts';
import { defineQuery, type QueryExecutor, time } from '../database/query.ts';
import { ServiceError } from '../errors/errors.ts';
import { cutPage, type Page, type TimePosition } from '../lib/pages.ts';
import { type Actor, ANONYMOUS } from '../memory/origin.ts';
import { recordEvent } from './events.ts';
import { MAX_METADATA } from './metadata.ts';
import { createTenantQuery, listOpenDraftsQuery, lockTenantQuery } from './queries.ts';

/** A tenant as a store in the Memory Stores API. Times are ISO 8601. */
export interface StoreRow {
  id: string;
  name: string;
  description: string;
  metadata: Record<string, string>;
  createdAt: string;
  updatedAt: string;
  /** Null unless the store is archived. Files in an archived store are read-only. */
  archivedAt: string | null;
}

const COLUMNS = `id, COALESCE(name, id) AS name, description, metadata, ${time('created_at')} AS "createdAt",
  ${time('updated_at')} AS "updatedAt", ${time('archived_at')} AS "archivedAt"`;

export const findStoreQuery = defineQuery<{ tenant: string }, StoreRow>(
  'find_store',
  `SELECT ${COLUMNS} FROM tenants WHERE id = $tenant`,
);

/**
 * Lists a page of stores, newest first, starting before the store with the time `beforeTime` and the ID `beforeId`.
 * Null parameters do not filter.
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
  AND created_at >= COALESCE($since::text::timestamptz, '-infinity')
  AND created_at <= COALESCE($until::text::timestamptz, 'infinity')
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

/** Archives a store, unless it is already archived. */
export const archiveStoreQuery = defineQuery<{ tenant: string }>(
  'archive_store',
  'UPDATE tenants SET archived_at = now(), updated_at = now() WHERE id = $tenant AND archived_at IS NULL',
);

export const archiveDraftQuery = defineQuery<{ tenant: string }>(
  'archive_draft',
  'UPDATE tenants SET archived_at = now() WHERE id = $tenant AND archived_at IS NULL',
);

/**
 * Sets a store's details to a copy of another store's details. A null name means that the store is named by its ID.
 */
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
UPDATE tenants SET name = $name, description = $description, metadata = $metadata::text::jsonb,
  archived_at = $archivedAt::text::timestamptz,
  updated_at = $updatedAt::text::timestamptz
WHERE id = $tenant
`,
);

/** User-supplied store details. */
export type StoreDetails = Pick<StoreRow, 'name' | 'description' | 'metadata'>;

/** Changes to a store's details. Metadata is changed per pair, and null removes a pair. */
export interface StoreDetailsChange {
  name?: string | null | undefined;
  description?: string | null | undefined;
  metadata?: Record<string, string | null> | null | undefined;
}

/** @throws ServiceError if the result would have too many metadata pairs */
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

/** Filter for a list of stores. Times are ISO 8601 and inclusive. */
export interface StoreFilter {
  since: string | null;
  until: string | null;
  includeArchived: boolean;
}

/** The tenants as stores in the Memory Stores API. Methods throw `DatabaseError`. */
export class Stores {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  async find(id: string): Promise<StoreRow | undefined> {
    return (await this.#database.query(findStoreQuery, { tenant: id })).rows[0];
  }

  /** Lists a page of stores, newest first. */
  async list(
    filter: StoreFilter,
    before: TimePosition | null,
    limit: number,
  ): Promise<Page<StoreRow, TimePosition>> {
    const position = { beforeTime: before?.time ?? null, beforeId: before?.id ?? null };
    const { rows } = await this.#database.query(listStoresQuery, {
      ...filter,
      ...position,
      limit: limit + 1,
    });
    return cutPage(rows, limit, ({ createdAt: time, id }) => ({ time, id }));
  }

  /** @throws ServiceError if a tenant with this ID exists */
  create(id: string, details: StoreDetails, by: Actor = ANONYMOUS): Promise<StoreRow> {
    return this.#database.transaction(async (query) => {
      if ((await query(createTenantQuery, { tenant: id })).count === 0)
        throw new ServiceError('tenant_exists', id);
      await recordEvent(query, id, { type: 'tenant_created' }, by);
      await query(setStoreQuery, detailParams(id, details));
      return requireStore(query, id);
    });
  }

  /**
   * Changes a store's details. Writes only if the details differ.
   *
   * @param change returns the new details; may throw
   * @throws ServiceError if the store does not exist or is archived
   */
  update(id: string, change: (before: StoreDetails) => StoreDetails): Promise<StoreRow> {
    return this.#database.transaction((query) => changeDetails(query, id, change));
  }

  /**
   * Archives a store and its drafts permanently. An archived store is not changed.
   *
   * @throws ServiceError if the store does not exist
   */
  async archive(id: string): Promise<StoreRow> {
    return this.#database.transaction(async (query) => {
      await query(archiveStoreQuery, { tenant: id });
      const { rows: drafts } = await query(listOpenDraftsQuery, { tenant: id });
      for (const draft of drafts) await query(archiveDraftQuery, { tenant: draft.id });
      return requireStore(query, id);
    });
  }
}

/** Rejects changes to an archived tenant. For changes without a write function; the caller has locked the tenant. */
export async function rejectArchived(query: QueryExecutor, tenant: string): Promise<void> {
  const [row] = (await query(findStoreQuery, { tenant })).rows;
  if (row !== undefined && row.archivedAt !== null) throw new ServiceError('tenant_archived', tenant);
}

export async function copyStore(query: QueryExecutor, from: string, to: string): Promise<void> {
  const { id, name, metadata, description, archivedAt, updatedAt } = await requireStore(query, from);
  await query(copyStoreQuery, {
    tenant: to,
    description,
    archivedAt,
    updatedAt,
    name: name === id ? null : name,
    metadata: JSON.stringify(metadata),
  });
}

/**
 * Changes a tenant's details in a transaction.
 *
 * @throws ServiceError if the tenant does not exist, or is archived
 */
export async function changeDetails(
  query: QueryExecutor,
  id: string,
  change: (before: StoreDetails) => StoreDetails,
): Promise<StoreRow> {
  await query(lockTenantQuery, { tenant: id });
  const before = await requireStore(query, id);
  if (before.archivedAt !== null) throw new ServiceError('tenant_archived', id);
  const after = change(before);
  if (isSame(before, after)) return before;
  await query(setStoreQuery, detailParams(id, after));
  return requireStore(query, id);
}

/** Changes a tenant's details, in a transaction that has locked the tenant. */
export async function setDetails(
  query: QueryExecutor,
  id: string,
  change: StoreDetailsChange,
): Promise<void> {
  await query(setStoreQuery, detailParams(id, mergeDetails(await requireStore(query, id), change)));
}

async function requireStore(query: QueryExecutor, id: string): Promise<StoreRow> {
  const [row] = (await query(findStoreQuery, { tenant: id })).rows;
  if (row === undefined) throw new ServiceError('unknown_tenant', id);
  return row;
}

function detailParams(id: string, { name, description, metadata }: StoreDetails) {
  return { tenant: id, name, description, metadata: JSON.stringify(metadata) };
}

function isSame(before: StoreDetails, after: StoreDetails): boolean {
  const pairs = ({ metadata }: StoreDetails) => JSON.stringify(Object.entries(metadata).sort());
  return (
    before.name === after.name && before.description === after.description && pairs(before) === pairs(after)
  );
}
