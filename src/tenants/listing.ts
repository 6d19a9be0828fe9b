import type { Config } from '../config.ts';
import type { Database } from '../postgres/database.ts';
import { defineQuery } from '../postgres/query.ts';
import { time } from '../postgres/time.ts';
import { TENANT_COLUMNS, type TenantRow } from './queries.ts';
import { noTenant } from './tenants.ts';

/** By id going up; the others begin with the most, or with the latest change. */
export type TenantOrder = 'id' | 'files' | 'bytes' | 'used' | 'changed';

/** Which tenants are listed; all conditions hold at once. */
export interface TenantFilter {
  /** A part of the id, in upper or lower case. */
  search?: string | undefined;
  status?: 'active' | 'suspended' | undefined;
}

/** A tenant with times in ISO 8601; `lastChangeAt` is null for never. */
export interface ListedTenant extends TenantRow {
  lastChangeAt: string | null;
  /** Since when the history is complete. */
  historySince: string;
}

/** Where a page of tenants ends: at a tenant, and at what the order goes by. */
export interface TenantPosition {
  key: number;
  id: string;
}

type Filter = { search: string | null; suspended: boolean | null };

const LISTED = `${TENANT_COLUMNS}, ${time('last_change_at')} AS "lastChangeAt",
  ${time('history_since')} AS "historySince"`;

const MATCHES = (search: string, suspended: string) => `
  (${search}::text IS NULL OR strpos(lower(id), lower(${search}::text)) > 0)
  AND (${suspended}::boolean IS NULL OR (suspended_at IS NOT NULL) = ${suspended}::boolean)`;

const listByIdQuery = defineQuery<Filter & { after: string; limit: number }, ListedTenant>(
  'list_tenants_by_id',
  ['search', 'suspended', 'after', 'limit'],
  `SELECT ${LISTED} FROM tenants WHERE id > $3 AND ${MATCHES('$1', '$2')} ORDER BY id LIMIT $4::bigint`,
);

const findListedQuery = defineQuery<{ tenant: string }, ListedTenant>(
  'find_listed_tenant',
  ['tenant'],
  `SELECT ${LISTED} FROM tenants WHERE id = $1`,
);

/** What part of a limit is used; 0 without a limit. */
const PART = (used: string, own: string, limit: string) =>
  `COALESCE(${used}::float8 / NULLIF(COALESCE(${own}, ${limit}::bigint), 0), 0)`;

const listByKeyQuery = defineQuery<
  Filter & {
    order: string;
    afterKey: number | null;
    afterId: string | null;
    limit: number;
    maxFiles: number;
    maxBytes: number;
  },
  ListedTenant & { key: number }
>(
  'list_tenants_by_key',
  [
    ...(['search', 'suspended', 'order', 'afterKey', 'afterId'] as const),
    ...(['limit', 'maxFiles', 'maxBytes'] as const),
  ],
  `
SELECT ${LISTED}, key FROM (
  SELECT *, CASE $3::text
    WHEN 'files' THEN file_count::float8
    WHEN 'bytes' THEN byte_count::float8
    WHEN 'used' THEN greatest(${PART('file_count', 'max_files', '$7')}, ${PART('byte_count', 'max_bytes', '$8')})
    ELSE COALESCE(extract(epoch FROM last_change_at)::float8, 0)
  END AS key FROM tenants WHERE ${MATCHES('$1', '$2')}
) AS t
WHERE $4::float8 IS NULL OR key < $4::float8 OR (key = $4::float8 AND id > $5)
ORDER BY key DESC, id LIMIT $6::bigint
`,
);

export const tenantListingQueries = [listByIdQuery, findListedQuery, listByKeyQuery] as const;

/** @throws OperatorError when there is no such tenant. */
export async function findListedTenant(database: Database, tenant: string): Promise<ListedTenant> {
  const [row] = (await database.query(findListedQuery, { tenant })).rows;
  if (row === undefined) throw noTenant(tenant);
  return row;
}

/** A page of the tenants; `next` is where the next page begins, null after the last. Throws `DatabaseError`. */
export async function listTenants(
  database: Database,
  config: Pick<Config, 'MAX_TENANT_FILES' | 'MAX_TENANT_BYTES'>,
  { search, status, order }: TenantFilter & { order: TenantOrder },
  { after, limit }: { after: TenantPosition | null; limit: number },
): Promise<{ tenants: ListedTenant[]; next: TenantPosition | null }> {
  const suspended = status === undefined ? null : status === 'suspended';
  const filter = { search: search ?? null, suspended };
  if (order === 'id') {
    const params = { ...filter, after: after?.id ?? '', limit: limit + 1 };
    const { rows } = await database.query(listByIdQuery, params);
    return pageOf(
      rows.map((tenant) => ({ tenant, key: 0 })),
      limit,
    );
  }
  const { rows } = await database.query(listByKeyQuery, {
    ...{ ...filter, order, afterKey: after?.key ?? null, afterId: after?.id ?? null, limit: limit + 1 },
    ...{ maxFiles: config.MAX_TENANT_FILES, maxBytes: config.MAX_TENANT_BYTES },
  });
  return pageOf(
    rows.map(({ key, ...tenant }) => ({ tenant, key })),
    limit,
  );
}

function pageOf(rows: { tenant: ListedTenant; key: number }[], limit: number) {
  const last = rows[limit - 1];
  const next = rows.length > limit && last !== undefined ? { key: last.key, id: last.tenant.id } : null;
  return { tenants: rows.slice(0, limit).map(({ tenant }) => tenant), next };
}
