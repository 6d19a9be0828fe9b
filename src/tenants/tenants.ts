import type { Database } from '../database/database.ts';
import type { QueryExecutor } from '../database/query.ts';
import { ServiceError } from '../errors/errors.ts';
import type { OverQuota } from '../memory/store.ts';
import { NEW_TENANT_ID, NEW_TENANT_ID_RULE } from './ids.ts';
import { lockScopedKeysQuery, lockTenantKeysQuery } from './key-queries.ts';
import {
  changeScopesQuery,
  createTenantQuery,
  deleteTenantKeysQuery,
  deleteTenantQuery,
  eraseEntriesQuery,
  eraseHistoryQuery,
  findTenantQuery,
  lastFileUseQuery,
  lastKeyUseQuery,
  listDraftTenantsQuery,
  lockTenantQuery,
  NO_TENANT,
  setTenantQuery,
  suspendDraftsQuery,
  suspendTenantQuery,
  type TenantRow,
  tenantCreatedAtQuery,
} from './queries.ts';
import type { TenantSettings } from './settings.ts';
import { countStoredResultsQuery, eraseStoredResultsQuery } from './stored-results.ts';
import { type StoreDetailsChange, setDetails } from './stores.ts';

const ERASED_AT_ONCE = 2000;

/** How many rows of each kind were deleted with a tenant. `versions` and `directories` are those of its history. */
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

/** The tenants and their settings. Throws `DatabaseError`. */
export class Tenants {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  async find(tenant: string): Promise<TenantRow | undefined> {
    return (await this.#database.query(findTenantQuery, { tenant })).rows[0];
  }

  /** Counts the stored results of a tenant. */
  async countStoredResults(tenant: string): Promise<number> {
    return (await this.#database.query(countStoredResultsQuery, { tenant })).rows[0]?.storedResults ?? 0;
  }

  /**
   * Returns when a tenant's memory or one of its keys was last used, as far as that is recorded: reads of a file to
   * the day. Null for never.
   */
  async lastActivity(tenant: string): Promise<Date | null> {
    const uses = await Promise.all([
      this.#database.query(lastFileUseQuery, { tenant }),
      this.#database.query(lastKeyUseQuery, { tenant }),
    ]);
    const times = uses.flatMap(({ rows }) => rows.flatMap(({ at }) => (at === null ? [] : [Date.parse(at)])));
    return times.length === 0 ? null : new Date(Math.max(...times));
  }

  /** Returns false when the tenant exists already. */
  async create(tenant: string): Promise<boolean> {
    return insertTenant(this.#database.query, tenant);
  }

  /**
   * Creates a tenant with settings of its own, and what people say of it.
   *
   * @throws ServiceError when there is such a tenant already.
   */
  async createWith(
    tenant: string,
    settings: Partial<TenantSettings>,
    details: StoreDetailsChange = {},
  ): Promise<void> {
    await this.#database.transaction(async (query) => {
      if (!(await insertTenant(query, tenant))) throw new ServiceError('tenant_exists', tenant);
      await set(query, tenant, settings);
      if (Object.keys(details).length > 0) await setDetails(query, tenant, details);
    });
  }

  /**
   * Changes some settings of a tenant and of its drafts. Returns false when the tenant does not exist.
   *
   * @throws ServiceError for a draft
   */
  async set(tenant: string, changes: Partial<TenantSettings>): Promise<boolean> {
    return this.#database.transaction((query) => set(query, tenant, changes));
  }

  /** Suspends or resumes a tenant with its drafts. Returns false when the tenant does not exist. */
  async suspend(tenant: string, suspended: boolean): Promise<boolean> {
    const since = suspended ? new Date().toISOString() : null;
    return this.#database.transaction(async (query) => {
      if ((await query(suspendTenantQuery, { tenant, since })).count === 0) return false;
      await query(suspendDraftsQuery, { tenant, since });
      return true;
    });
  }

  /**
   * Deletes a tenant and all of its data. Suspends the tenant first and deletes in batches, so that no statement
   * takes long. If it is interrupted, call it again.
   *
   * @returns how many rows were deleted, without those of its drafts, or undefined when the tenant does not exist
   * @throws ServiceError for a draft
   */
  async delete(tenant: string): Promise<Erased | undefined> {
    const row = await this.find(tenant);
    if (row === undefined) return undefined;
    // Closing a draft is what records its end.
    if (row.draftOf !== null) throw new ServiceError('is_draft', row.draftOf, tenant);
    const { rows: drafts } = await this.#database.query(listDraftTenantsQuery, { tenant });
    for (const { id } of drafts) await this.deleteDraft(id);
    return this.#erase(tenant);
  }

  /** Deletes the memory of a draft. What the tenant's list of drafts says of it stays. */
  async deleteDraft(id: string): Promise<void> {
    await this.#erase(id);
  }

  async #erase(tenant: string): Promise<Erased | undefined> {
    const since = new Date().toISOString();
    if ((await this.#database.query(suspendTenantQuery, { tenant, since })).count === 0) return undefined;

    const erased: Erased = { ...NOTHING_ERASED };
    while (!(await eraseBatch(this.#database.query, tenant, erased)));
    return this.#database.transaction(async (query) => {
      await query(lockTenantQuery, { tenant });
      // Requests that started before the tenant was suspended may have written in the meantime.
      return eraseLocked(query, tenant, erased);
    });
  }
}

/**
 * Creates a tenant. Returns false when it exists already.
 *
 * @throws ServiceError for an id that no new tenant can have
 */
export async function insertTenant(query: QueryExecutor, tenant: string): Promise<boolean> {
  if (!NEW_TENANT_ID.test(tenant))
    throw new ServiceError('invalid_new_tenant_id', tenant, NEW_TENANT_ID_RULE);
  return (await query(createTenantQuery, { tenant })).count === 1;
}

async function set(query: QueryExecutor, tenant: string, changes: Partial<TenantSettings>): Promise<boolean> {
  await query(lockTenantQuery, { tenant });
  const current = (await query(findTenantQuery, { tenant })).rows[0];
  if (current === undefined) return false;
  if (current.draftOf !== null) throw new ServiceError('draft_has_no_settings', current.draftOf, tenant);
  const settings = { ...current, ...changes };
  const isSet = (await query(setTenantQuery, { ...settings, tenant })).count === 1;
  const { rows: drafts } = await query(listDraftTenantsQuery, { tenant });
  for (const { id } of drafts) await followSettings(query, settings, id);
  return isSet;
}

/**
 * Gives a draft the settings of its original, in a transaction that has locked the original. The draft keeps its own
 * limit of bytes where that is lower.
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

/** Files of a draft do not expire: that would propose their deletion. */
const UNLIMITED = 0;

/** The lower of two limits, where 0 is no limit and null the service's default. */
function lowerLimit(own: number | null, other: number | null): number | null {
  if (own === null || own === UNLIMITED) return other;
  return other === null || other === UNLIMITED ? own : Math.min(own, other);
}

/**
 * Checks, after something of a tenant was read, that this was the tenant that was created then.
 *
 * @param createdAt null: any tenant; `NO_TENANT`: none
 * @throws ServiceError when that tenant does not exist any more, or there is a tenant now
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

/** @throws ServiceError when there is no such tenant. */
export async function requireTenant(database: Pick<Database, 'query'>, tenant: string): Promise<TenantRow> {
  const row = (await database.query(findTenantQuery, { tenant })).rows[0];
  if (row === undefined) throw new ServiceError('no_such_tenant', tenant);
  return row;
}

/** The error for an operation that exceeds a quota. */
export function quotaExceeded(
  tenant: string,
  { of, used, limit, needed }: OverQuota,
  what: 'change' | 'import' | 'merge' | 'restore' | 'revert',
): ServiceError {
  return new ServiceError('quota_exceeded', tenant, what, { of, used, limit, needed });
}

/**
 * Deletes the rest of a tenant's data, the tenant and its keys, in a transaction that has locked it. Adds to `erased`
 * and returns it.
 */
async function eraseLocked(query: QueryExecutor, tenant: string, erased: Erased): Promise<Erased> {
  await eraseData(query, tenant, erased);
  await query(lockTenantKeysQuery, { tenant });
  erased.keys += (await query(deleteTenantKeysQuery, { tenant })).count;
  await query(lockScopedKeysQuery, { tenant });
  await query(changeScopesQuery, { tenant, to: null });
  return erased;
}

/**
 * Deletes the rest of a tenant's data and the tenant, in a transaction that has locked it. This waits for the keys
 * that are just being created, and lets no more of them be: what happens to the keys comes afterwards.
 */
export async function eraseData(
  query: QueryExecutor,
  tenant: string,
  erased: Erased = { ...NOTHING_ERASED },
): Promise<void> {
  while (!(await eraseBatch(query, tenant, erased)));
  await query(deleteTenantQuery, { tenant });
}

/** Returns true when nothing is left. */
async function eraseBatch(query: QueryExecutor, tenant: string, erased: Erased): Promise<boolean> {
  const batch = { tenant, limit: ERASED_AT_ONCE };
  const entries = Number((await query(eraseEntriesQuery, batch)).rows[0]?.erased ?? 0);
  const storedResults = (await query(eraseStoredResultsQuery, batch)).count;
  const history = (await query(eraseHistoryQuery, batch)).rows[0];
  const { versions = 0, directories = 0 } = history ?? {};
  erased.entries += entries;
  erased.versions += versions;
  erased.directories += directories;
  erased.storedResults += storedResults;
  return Math.max(entries, versions + directories, storedResults) < ERASED_AT_ONCE;
}
