import type { Config } from '../config.ts';
import { ServiceError } from '../errors.ts';
import type { Database } from '../postgres/database.ts';
import { tenantDefaults } from './effective-settings.ts';
import {
  type Filter,
  findListedQuery,
  type ListedTenant,
  listByIdQuery,
  listByKeyQuery,
} from './listing-queries.ts';

/** By id going up; the others begin with the most, or with the latest change, and go by id where that is the same. */
export type TenantOrder = 'id' | 'files' | 'bytes' | 'used' | 'changed';

/** Which tenants are listed; all conditions hold at once. */
export interface TenantFilter {
  /** A part of the id, in upper or lower case. */
  search?: string | undefined;
  /** What the id starts with. */
  prefix?: string | undefined;
  status?: 'active' | 'suspended' | undefined;
  /** The least percentage of a limit on files or bytes that is used. */
  nearLimit?: number | undefined;
  /** The only tenants that are seen; null: all. */
  scope?: string[] | null;
}

/** Where a page of tenants ends: at a tenant, and at what the order goes by. */
export interface TenantPosition {
  key: number;
  id: string;
}

/** @throws ServiceError when there is no such tenant. */
export async function findListedTenant(database: Database, tenant: string): Promise<ListedTenant> {
  const [row] = (await database.query(findListedQuery, { tenant })).rows;
  if (row === undefined) throw new ServiceError('no_such_tenant', tenant);
  return row;
}

/** A page of the tenants; `next` is where the next page begins, null after the last. Throws `DatabaseError`. */
export async function listTenants(
  database: Database,
  config: Config,
  { order, ...selection }: TenantFilter & { order: TenantOrder },
  { after, limit }: { after: TenantPosition | null; limit: number },
): Promise<{ tenants: ListedTenant[]; next: TenantPosition | null }> {
  const params = { ...filterParams(selection, config), limit: limit + 1 };
  if (order === 'id') {
    const { rows } = await database.query(listByIdQuery, { ...params, after: after?.id ?? '' });
    return pageOf(
      rows.map((tenant) => ({ tenant, key: 0 })),
      limit,
    );
  }
  const position = { afterKey: after?.key ?? null, afterId: after?.id ?? null };
  const { rows } = await database.query(listByKeyQuery, { ...params, ...position, order });
  return pageOf(
    rows.map(({ key, ...tenant }) => ({ tenant, key })),
    limit,
  );
}

const PAGE = 5000;

/** All tenants that match, read a page at a time as they are consumed. Throws `DatabaseError`. */
export async function* readTenants(
  database: Database,
  config: Config,
  selection: TenantFilter & { order: TenantOrder },
): AsyncGenerator<ListedTenant> {
  let after: TenantPosition | null = null;
  do {
    const page: Awaited<ReturnType<typeof listTenants>> = await listTenants(database, config, selection, {
      after,
      limit: PAGE,
    });
    yield* page.tenants;
    after = page.next;
  } while (after !== null);
}

function filterParams(
  { search, prefix, status, nearLimit, scope = null }: TenantFilter,
  config: Config,
): Filter {
  const { maxFiles, maxBytes } = tenantDefaults(config);
  return {
    search: search ?? null,
    prefix: prefix ?? null,
    suspended: status === undefined ? null : status === 'suspended',
    nearLimit: nearLimit ?? null,
    maxFiles,
    maxBytes,
    scope,
  };
}

function pageOf(rows: { tenant: ListedTenant; key: number }[], limit: number) {
  const last = rows[limit - 1];
  const next = rows.length > limit && last !== undefined ? { key: last.key, id: last.tenant.id } : null;
  return { tenants: rows.slice(0, limit).map(({ tenant }) => tenant), next };
}
