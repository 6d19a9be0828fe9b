import { OperatorError } from '../errors.ts';
import { countAnswersQuery, eraseAnswersQuery } from '../idempotency/queries.ts';
import type { OverQuota } from '../memory/store.ts';
import type { Database } from '../postgres/database.ts';
import type { QueryExecutor } from '../postgres/query.ts';
import {
  createTenantQuery,
  deleteTenantKeysQuery,
  deleteTenantQuery,
  eraseEntriesQuery,
  eraseHistoryQuery,
  findTenantQuery,
  lastFileUseQuery,
  lastKeyUseQuery,
  listTenantsQuery,
  lockTenantQuery,
  setTenantQuery,
  suspendTenantQuery,
  type TenantRow,
  type TenantSettings,
} from './queries.ts';

const PAGE = 500;
const ERASED_AT_ONCE = 2000;

/** How many rows of what were erased with a tenant: of its history, `versions`, their `contents` and past `directories`. */
export interface Erased {
  entries: number;
  versions: number;
  contents: number;
  directories: number;
  answers: number;
  keys: number;
}

/** The tenants and their settings. Throws `DatabaseError`. */
export class Tenants {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  async find(tenant: string): Promise<TenantRow | undefined> {
    return (await this.#database.query(findTenantQuery, { tenant })).rows[0];
  }

  /** How many answers a tenant has under idempotency keys. */
  async countAnswers(tenant: string): Promise<number> {
    return (await this.#database.query(countAnswersQuery, { tenant })).rows[0]?.answers ?? 0;
  }

  /** All tenants in the order of their ids, read page by page. */
  async *list(): AsyncGenerator<TenantRow> {
    let after = '';
    for (;;) {
      const params = { after, limit: PAGE };
      const { rows } = await this.#database.query(listTenantsQuery, params);
      yield* rows;
      const last = rows.at(-1);
      if (last === undefined || rows.length < PAGE) return;
      after = last.id;
    }
  }

  /**
   * When a tenant's memory or one of its keys was last used, as far as that is kept: reads of a file to the day, and a delete only by the
   * key that did it. Null for never.
   */
  async lastActivity(tenant: string): Promise<Date | null> {
    const uses = await Promise.all([
      this.#database.query(lastFileUseQuery, { tenant }),
      this.#database.query(lastKeyUseQuery, { tenant }),
    ]);
    const times = uses.flatMap(({ rows }) => rows.flatMap(({ at }) => (at === null ? [] : [Date.parse(at)])));
    return times.length === 0 ? null : new Date(Math.max(...times));
  }

  /** False when there is such a tenant already. */
  async create(tenant: string): Promise<boolean> {
    return (await this.#database.query(createTenantQuery, { tenant })).count === 1;
  }

  /** Changes some of a tenant's settings; false when there is no such tenant. */
  async set(tenant: string, changes: Partial<TenantSettings>): Promise<boolean> {
    return this.#database.transaction(async (query) => {
      await query(lockTenantQuery, { tenant });
      const current = (await query(findTenantQuery, { tenant })).rows[0];
      if (current === undefined) return false;
      const { maxFileBytes, maxBytes, maxFiles, maxViewChars, ratePerMinute, maxBodyBytes, ...others } = {
        ...current,
        ...changes,
      };
      const limits = { maxFileBytes, maxBytes, maxFiles, maxViewChars, ratePerMinute, maxBodyBytes };
      const { ttlDays, redact, historyDays, maxHistoryBytes } = others;
      const settings = { ...limits, ttlDays, redact, historyDays, maxHistoryBytes };
      return (await query(setTenantQuery, { tenant, ...settings })).count === 1;
    });
  }

  /** Suspends or resumes a tenant; false when there is no such tenant. */
  async suspend(tenant: string, suspended: boolean): Promise<boolean> {
    const since = suspended ? new Date().toISOString() : null;
    return (await this.#database.query(suspendTenantQuery, { tenant, since })).count === 1;
  }

  /**
   * Erases a tenant and everything of it; how many rows of what, or undefined when there is none. The tenant is suspended first and
   * erased in batches, so that no statement takes long; when that is cut short, erase it again.
   */
  async delete(tenant: string): Promise<Erased | undefined> {
    if (!(await this.suspend(tenant, true))) return undefined;

    const erased: Erased = { entries: 0, versions: 0, contents: 0, directories: 0, answers: 0, keys: 0 };
    while (!(await eraseBatch(this.#database.query, tenant, erased)));
    return this.#database.transaction(async (query) => {
      await query(lockTenantQuery, { tenant });
      // Requests that found the tenant before it was suspended may have written since.
      return eraseLocked(query, tenant, erased);
    });
  }
}

/** A tenant's quota is too small for what an operator wants to do. */
export function noRoom(tenant: string, { of, used, limit, needed }: OverQuota, what: string): OperatorError {
  return new OperatorError(
    `There is no room: ${tenant} has ${used} of ${limit} ${of}, and the ${what} needs ${needed}. Raise the limit with: memory-service tenants set ${tenant} --max-${of === 'bytes' ? 'bytes' : 'files'} ${used + needed}`,
  );
}

/** Erases what is left of a tenant, and the tenant, in a transaction that has locked it. Adds to `erased`, and returns it. */
export async function eraseLocked(
  query: QueryExecutor,
  tenant: string,
  erased: Erased = { entries: 0, versions: 0, contents: 0, directories: 0, answers: 0, keys: 0 },
): Promise<Erased> {
  while (!(await eraseBatch(query, tenant, erased)));
  erased.keys += (await query(deleteTenantKeysQuery, { tenant })).count;
  await query(deleteTenantQuery, { tenant });
  return erased;
}

/** True when nothing is left. */
async function eraseBatch(query: QueryExecutor, tenant: string, erased: Erased): Promise<boolean> {
  const batch = { tenant, limit: ERASED_AT_ONCE };
  const entries = (await query(eraseEntriesQuery, batch)).rows[0]?.erased ?? 0;
  const answers = (await query(eraseAnswersQuery, batch)).count;
  const history = (await query(eraseHistoryQuery, batch)).rows[0];
  const { versions = 0, contents = 0, directories = 0 } = history ?? {};
  erased.entries += entries;
  erased.versions += versions;
  erased.contents += contents;
  erased.directories += directories;
  erased.answers += answers;
  return Math.max(entries, versions + contents + directories, answers) < ERASED_AT_ONCE;
}
