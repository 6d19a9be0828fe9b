import type { Database } from '../database/database.ts';
import type { QueryExecutor } from '../database/query.ts';
import { ServiceError } from '../errors/errors.ts';
import type { OverQuota, Quotas } from '../memory/memory-store.ts';
import { type Actor, ANONYMOUS } from '../memory/origin.ts';
import { recordEvent, retireEventsQuery } from './events.ts';
import { NEW_TENANT_ID, NEW_TENANT_ID_RULE } from './ids.ts';
import { removeAllKeptOut } from './kept-out-entries.ts';
import { lockScopedKeysQuery, lockTenantKeysQuery } from './key-queries.ts';
import { recordNearLimits } from './near-limits.ts';
import {
  changeScopesQuery,
  createTenantQuery,
  deleteEntriesQuery,
  deleteHistoryQuery,
  deleteReadsQuery,
  deleteTenantInvitationsQuery,
  deleteTenantKeysQuery,
  deleteTenantQuery,
  deleteTenantSharesQuery,
  deleteTenantWebhooksQuery,
  findTenantQuery,
  lastFileUseQuery,
  lastKeyUseQuery,
  listDraftTenantsQuery,
  listOpenDraftsQuery,
  lockTenantQuery,
  NO_TENANT,
  setTenantQuery,
  suspendTenantQuery,
  type TenantRow,
  tenantCreatedAtQuery,
} from './queries.ts';
import type { TenantSettings } from './settings.ts';
import { countStoredResultsQuery, deleteStoredResultsQuery } from './stored-results.ts';
import { changeDetails, mergeDetails, type StoreDetailsChange, setDetails } from './stores.ts';

const ROWS_A_BATCH = 2000;

/** Numbers of rows deleted with a tenant. `versions` and `directories` are rows in its history. */
export interface Erased {
  entries: number;
  versions: number;
  directories: number;
  storedResults: number;
  keys: number;
}

export const NOTHING_ERASED: Readonly<Erased> = {
  entries: 0,
  versions: 0,
  directories: 0,
  storedResults: 0,
  keys: 0,
};

/** The tenants and their settings. Methods throw `DatabaseError`. */
export class Tenants {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  async find(tenant: string): Promise<TenantRow | undefined> {
    return (await this.#database.query(findTenantQuery, { tenant })).rows[0];
  }

  async countStoredResults(tenant: string): Promise<number> {
    return (await this.#database.query(countStoredResultsQuery, { tenant })).rows[0]?.storedResults ?? 0;
  }

  /**
   * Returns when a tenant's memory or keys were last used, as recorded, or null if unused. File reads have a resolution
   * of one day.
   */
  async lastActivity(tenant: string): Promise<Date | null> {
    const uses = await Promise.all([
      this.#database.query(lastFileUseQuery, { tenant }),
      this.#database.query(lastKeyUseQuery, { tenant }),
    ]);
    const times = uses.flatMap(({ rows }) => rows.flatMap(({ at }) => (at === null ? [] : [Date.parse(at)])));
    return times.length === 0 ? null : new Date(Math.max(...times));
  }

  /** Creates a tenant. Returns false if the tenant already exists. */
  async create(tenant: string, by: Actor = ANONYMOUS): Promise<boolean> {
    return this.#database.transaction((query) => createIn(query, tenant, by));
  }

  /**
   * Creates a tenant with settings and details.
   *
   * @throws ServiceError if the tenant already exists
   */
  async createWith(
    tenant: string,
    settings: Partial<TenantSettings>,
    details: StoreDetailsChange = {},
    by: Actor = ANONYMOUS,
  ): Promise<void> {
    await this.#database.transaction(async (query) => {
      if (!(await createIn(query, tenant, by))) throw new ServiceError('tenant_exists', tenant);
      await set(query, tenant, settings);
      if (Object.keys(details).length > 0) await setDetails(query, tenant, details);
    });
  }

  /**
   * Changes settings for a tenant and its drafts. Returns false if the tenant does not exist.
   *
   * @throws ServiceError for a draft
   */
  async set(tenant: string, changes: Partial<TenantSettings>): Promise<boolean> {
    return this.#database.transaction(async (query) => (await set(query, tenant, changes)) !== undefined);
  }

  /**
   * Changes a tenant's settings and details in one transaction. Returns false if the tenant does not exist.
   *
   * @param quotas the service's limits, for an event about a limit
   * @throws ServiceError for a draft, or if the details change and the tenant is archived
   */
  async change(
    tenant: string,
    settings: Partial<TenantSettings>,
    details: StoreDetailsChange,
    quotas: Quotas,
    by: Actor,
  ): Promise<boolean> {
    return this.#database.transaction(async (query) => {
      const before = await set(query, tenant, settings);
      if (before === undefined) return false;
      await recordNearLimits(query, before, quotas, by);
      if (Object.keys(details).length > 0) {
        await changeDetails(query, tenant, (current) => mergeDetails(current, details));
      }
      return true;
    });
  }

  /** Suspends or resumes a tenant and its drafts. Returns false if the tenant does not exist. */
  async suspend(tenant: string, suspended: boolean, by: Actor = ANONYMOUS): Promise<boolean> {
    const since = suspended ? new Date().toISOString() : null;
    const type = suspended ? 'tenant_suspended' : 'tenant_resumed';
    return this.#database.transaction(async (query) => {
      await query(lockTenantQuery, { tenant });
      const before = (await query(findTenantQuery, { tenant })).rows[0];
      if (before === undefined) return false;
      await query(suspendTenantQuery, { tenant, since });
      if ((before.suspendedAt !== null) !== suspended) await recordEvent(query, tenant, { type }, by);
      const { rows: drafts } = await query(listOpenDraftsQuery, { tenant });
      for (const { id } of drafts) await query(suspendTenantQuery, { tenant: id, since });
      return true;
    });
  }

  /**
   * Deletes a tenant and all of its data. Suspends the tenant first, and deletes in batches, so that statements are
   * short. If the call is interrupted, repeat it.
   *
   * @returns the numbers of deleted rows, without draft rows, or undefined if the tenant does not exist
   * @throws ServiceError for a draft
   */
  async delete(tenant: string, by: Actor = ANONYMOUS): Promise<Erased | undefined> {
    const row = await this.find(tenant);
    if (row === undefined) return undefined;
    // A draft must be closed instead, because closing records its end.
    if (row.draftOf !== null) throw new ServiceError('is_draft', row.draftOf, tenant);
    const { rows: drafts } = await this.#database.query(listDraftTenantsQuery, { tenant });
    for (const { id } of drafts) await this.deleteDraft(id);
    return this.#deleteData(tenant, by);
  }

  /** Deletes a draft's memory. The draft's record is kept. */
  async deleteDraft(id: string): Promise<void> {
    await this.#deleteData(id, ANONYMOUS);
  }

  async #deleteData(tenant: string, by: Actor): Promise<Erased | undefined> {
    const since = new Date().toISOString();
    if ((await this.#database.query(suspendTenantQuery, { tenant, since })).count === 0) return undefined;

    const erased: Erased = { ...NOTHING_ERASED };
    while (!(await deleteBatch(this.#database.query, tenant, erased)));
    return this.#database.transaction(async (query) => {
      await query(lockTenantQuery, { tenant });
      await recordEvent(query, tenant, { type: 'tenant_deleted' }, by);
      // Requests that started before the suspension may have written in the meantime.
      return deleteLocked(query, tenant, erased);
    });
  }
}

/**
 * Creates a tenant, without its event. Returns false if the tenant already exists.
 *
 * @throws ServiceError if the ID is invalid for a new tenant
 */
export async function insertTenant(query: QueryExecutor, tenant: string): Promise<boolean> {
  if (!NEW_TENANT_ID.test(tenant))
    throw new ServiceError('invalid_new_tenant_id', tenant, NEW_TENANT_ID_RULE);
  return (await query(createTenantQuery, { tenant })).count === 1;
}

async function createIn(query: QueryExecutor, tenant: string, by: Actor): Promise<boolean> {
  if (!(await insertTenant(query, tenant))) return false;
  await recordEvent(query, tenant, { type: 'tenant_created' }, by);
  return true;
}

/** Returns the tenant before the change, or undefined if it does not exist. */
async function set(
  query: QueryExecutor,
  tenant: string,
  changes: Partial<TenantSettings>,
): Promise<TenantRow | undefined> {
  await query(lockTenantQuery, { tenant });
  const current = (await query(findTenantQuery, { tenant })).rows[0];
  if (current === undefined) return undefined;
  if (current.draftOf !== null) throw new ServiceError('draft_has_no_settings', current.draftOf, tenant);
  if (Object.keys(changes).length === 0) return current;
  const settings = { ...current, ...changes };
  await query(setTenantQuery, { ...settings, tenant });
  const { rows: drafts } = await query(listOpenDraftsQuery, { tenant });
  for (const { id } of drafts) await followSettings(query, settings, id);
  return current;
}

/**
 * Applies the original's settings to a draft, in a transaction that has locked the original. A lower byte limit on the
 * draft is kept.
 */
export async function followSettings(
  query: QueryExecutor,
  original: TenantSettings,
  draft: string,
): Promise<void> {
  await query(lockTenantQuery, { tenant: draft });
  const [row] = (await query(findTenantQuery, { tenant: draft })).rows;
  if (row === undefined) return;
  const maxBytes = lowerLimit(row.maxBytes, original.maxBytes);
  await query(setTenantQuery, { ...original, maxBytes, ttlDays: UNLIMITED, tenant: draft });
}

/** Files in a draft must not expire, because their deletion would become part of the proposal. */
const UNLIMITED = 0;

/** Returns the lower of two limits. 0 means no limit, and null the service's default. */
function lowerLimit(own: number | null, other: number | null): number | null {
  if (own === null || own === UNLIMITED) return other;
  return other === null || other === UNLIMITED ? own : Math.min(own, other);
}

/**
 * Checks that a tenant still is the expected tenant. Call this after reading the tenant's data.
 *
 * @param createdAt the expected tenant's creation time; null accepts any tenant, and `NO_TENANT` expects none
 * @throws ServiceError if the tenant differs from the expected one
 */
export async function requireSameTenant(
  { query }: Pick<Database, 'query'>,
  tenant: string,
  createdAt: string | null,
): Promise<void> {
  if (createdAt === null) return;
  const [row] = (await query(tenantCreatedAtQuery, { tenant })).rows;
  if ((row?.createdAt ?? NO_TENANT) !== createdAt) throw new ServiceError('tenant_replaced', tenant);
}

/** @throws ServiceError if the tenant does not exist */
export async function requireTenant(database: Pick<Database, 'query'>, tenant: string): Promise<TenantRow> {
  const row = (await database.query(findTenantQuery, { tenant })).rows[0];
  if (row === undefined) throw new ServiceError('no_such_tenant', tenant);
  return row;
}

export function quotaExceeded(
  tenant: string,
  { of, used, limit, needed }: OverQuota,
  what: 'change' | 'import' | 'merge' | 'restore' | 'revert',
): ServiceError {
  return new ServiceError('quota_exceeded', tenant, what, { of, used, limit, needed });
}

/**
 * Deletes a tenant's remaining data, the tenant, and its keys, in a transaction that has locked the tenant. Adds to
 * `erased` and returns it.
 */
async function deleteLocked(query: QueryExecutor, tenant: string, erased: Erased): Promise<Erased> {
  await deleteData(query, tenant, erased);
  await removeAllKeptOut(query, tenant);
  await query(lockTenantKeysQuery, { tenant });
  await query(deleteTenantWebhooksQuery, { tenant });
  await query(deleteTenantInvitationsQuery, { tenant });
  await query(deleteTenantSharesQuery, { tenant });
  erased.keys += (await query(deleteTenantKeysQuery, { tenant })).count;
  await query(lockScopedKeysQuery, { tenant });
  await query(changeScopesQuery, { tenant, to: null });
  return erased;
}

/**
 * Deletes a tenant's remaining data and the tenant, in a transaction that has locked the tenant. The deletion waits for
 * transactions that are creating keys and prevents new keys. The caller must handle the keys afterwards.
 */
export async function deleteData(
  query: QueryExecutor,
  tenant: string,
  erased: Erased = { ...NOTHING_ERASED },
): Promise<void> {
  while (!(await deleteBatch(query, tenant, erased)));
  await query(deleteTenantQuery, { tenant });
  await query(retireEventsQuery, { tenant });
}

/** Deletes one batch for each kind of row. Returns true if all rows are deleted. */
async function deleteBatch(query: QueryExecutor, tenant: string, erased: Erased): Promise<boolean> {
  const batch = { tenant, limit: ROWS_A_BATCH };
  const entries = Number((await query(deleteEntriesQuery, batch)).rows[0]?.erased ?? 0);
  const storedResults = (await query(deleteStoredResultsQuery, batch)).count;
  const reads = (await query(deleteReadsQuery, batch)).count;
  const history = (await query(deleteHistoryQuery, batch)).rows[0];
  const { versions = 0, directories = 0 } = history ?? {};
  erased.entries += entries;
  erased.versions += versions;
  erased.directories += directories;
  erased.storedResults += storedResults;
  return Math.max(entries, versions + directories, storedResults, reads) < ROWS_A_BATCH;
}
