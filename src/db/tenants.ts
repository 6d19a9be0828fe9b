import { ServiceError } from '../errors.ts';
import type { Database } from './database.ts';
import { withFaultsMapped } from './errors.ts';
import {
  createTenantStatement,
  deleteTenantAnswersStatement,
  deleteTenantEntriesStatement,
  deleteTenantKeysStatement,
  deleteTenantStatement,
  findTenantStatement,
  listTenantsStatement,
  lockTenantStatement,
  setTenantStatement,
  suspendTenantStatement,
  type TenantRow,
  type TenantSettings,
} from './statements/tenants.ts';

const PAGE = 500;

/** The tenants and their settings. Faults come out as `ServiceError`. */
export class Tenants {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  async find(tenant: string): Promise<TenantRow | undefined> {
    return withFaultsMapped(async () => (await this.#database.run(findTenantStatement, { tenant })).rows[0]);
  }

  /** All tenants in the order of their ids, read page by page. */
  async *list(): AsyncGenerator<TenantRow> {
    let after = '';
    for (;;) {
      const params = { after, limit: PAGE };
      const { rows } = await withFaultsMapped(() => this.#database.run(listTenantsStatement, params));
      yield* rows;
      const last = rows.at(-1);
      if (last === undefined || rows.length < PAGE) return;
      after = last.id;
    }
  }

  /** False when there is such a tenant already. */
  async create(tenant: string): Promise<boolean> {
    return withFaultsMapped(
      async () => (await this.#database.run(createTenantStatement, { tenant })).count === 1,
    );
  }

  /** Changes some of a tenant's settings; false when there is no such tenant. */
  async set(tenant: string, changes: Partial<TenantSettings>): Promise<boolean> {
    return withFaultsMapped(() =>
      this.#database.transaction(async (run) => {
        await run(lockTenantStatement, { tenant });
        const current = (await run(findTenantStatement, { tenant })).rows[0];
        if (current === undefined) return false;
        const {
          maxFileBytes,
          maxBytes,
          maxFiles,
          maxViewChars,
          ratePerMinute,
          maxBodyBytes,
          ttlDays,
          redact,
        } = {
          ...current,
          ...changes,
        };
        const limits = { maxFileBytes, maxBytes, maxFiles, maxViewChars, ratePerMinute, maxBodyBytes };
        const settings = { ...limits, ttlDays, redact };
        return (await run(setTenantStatement, { tenant, ...settings })).count === 1;
      }),
    );
  }

  /** Suspends or resumes a tenant; false when there is no such tenant. */
  async suspend(tenant: string, suspended: boolean): Promise<boolean> {
    const since = suspended ? new Date().toISOString() : null;
    return withFaultsMapped(
      async () => (await this.#database.run(suspendTenantStatement, { tenant, since })).count === 1,
    );
  }

  /** Erases a tenant and everything of it, at once; how many rows of what, or undefined when there is none. */
  async delete(tenant: string): Promise<{ entries: number; answers: number; keys: number } | undefined> {
    return withFaultsMapped(() =>
      this.#database.transaction(async (run) => {
        await run(lockTenantStatement, { tenant });
        const entries = (await run(deleteTenantEntriesStatement, { tenant })).count;
        const answers = (await run(deleteTenantAnswersStatement, { tenant })).count;
        const keys = (await run(deleteTenantKeysStatement, { tenant })).count;
        const { count } = await run(deleteTenantStatement, { tenant });
        return count === 1 ? { entries, answers, keys } : undefined;
      }),
    );
  }
}

/** The tenant is not there, and nothing here makes it. */
export function unknownTenant(tenant: string): ServiceError {
  return new ServiceError(
    403,
    'unknown_tenant',
    `There is no tenant ${tenant}. Create it with: memory-service tenants create ${tenant}`,
  );
}
