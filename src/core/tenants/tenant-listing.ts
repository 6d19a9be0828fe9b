import type { Config } from '../config.ts';
import { containsText, type SoughtPart, soughtPart } from '../database/contains-text.ts';
import type { Database } from '../database/database.ts';
import { defineQuery, time } from '../database/query.ts';
import { ServiceError } from '../errors/errors.ts';
import { cutPage, type Page } from '../lib/pages.ts';
import { tenantDefaults } from './effective-settings.ts';
import { TENANT_COLUMNS, type TenantRow } from './queries.ts';

/** A tenant with times in ISO 8601. `lastChangeAt` is null if the memory was never changed. */
export interface ListedTenant extends TenantRow {
  lastChangeAt: string | null;
  /** Time when the complete history starts. */
  historySince: string;
}

export const TENANT_STATUSES = ['active', 'suspended', 'archived'] as const;

/** A tenant that is both suspended and archived is suspended. */
export type TenantStatus = (typeof TENANT_STATUSES)[number];

export function deriveStatus({
  suspendedAt,
  archivedAt,
}: Pick<TenantRow, 'suspendedAt' | 'archivedAt'>): TenantStatus {
  if (suspendedAt !== null) return 'suspended';
  return archivedAt === null ? 'active' : 'archived';
}

/** Conditions on tenants that lists and jobs share. All conditions must match. */
export interface TenantConditions {
  /** Part of the ID or the name, case-insensitive. */
  search?: string | undefined;
  status?: TenantStatus | undefined;
  /** Pairs that the metadata contains. */
  metadata?: Record<string, string> | undefined;
}

/** Parameters for `IS_SELECTED`. Null fields do not filter. */
export type ConditionParams = {
  search: SoughtPart;
  status: string | null;
  metadata: string | null;
};

export function conditionParams({ search, status, metadata }: TenantConditions): ConditionParams {
  return {
    search: soughtPart(search),
    status: status ?? null,
    metadata: metadata === undefined ? null : JSON.stringify(metadata),
  };
}

/** SQL condition: whether a row is a tenant, and not a draft, and matches `$search`, `$status`, and `$metadata`. */
export const IS_SELECTED = `draft_of IS NULL
  AND ($search::text[] IS NULL OR ${containsText('id', 'search')} OR ${containsText('name', 'search')})
  AND ($status::text IS NULL OR $status::text = CASE
    WHEN suspended_at IS NOT NULL THEN 'suspended'
    WHEN archived_at IS NOT NULL THEN 'archived'
    ELSE 'active'
  END)
  AND ($metadata::jsonb IS NULL OR metadata @> $metadata::jsonb)`;

/** Null fields do not filter. */
export type Filter = ConditionParams & {
  nearLimit: number | null;
  /** Limits for tenants without these settings. */
  maxFiles: number;
  maxBytes: number;
  /** Tenants that the caller may see. */
  scope: string[] | null;
};

const LISTED = `${TENANT_COLUMNS}, ${time('last_change_at')} AS "lastChangeAt",
  ${time('history_since')} AS "historySince"`;

/** SQL value for `percentUsed`; -1 without a limit. */
const PERCENT = (used: string, own: string, limit: string) =>
  `COALESCE(floor(100 * ${used}::float8 / NULLIF(COALESCE(${own}, ${limit}::bigint), 0)), -1)`;

/** SQL value for `fullness`, with the service's default limits as parameters. */
export const fullnessColumn = (maxFiles: string, maxBytes: string) =>
  `greatest(${PERCENT('file_count', 'max_files', maxFiles)}, ${PERCENT('byte_count', 'max_bytes', maxBytes)})`;

const FULLNESS = fullnessColumn('$maxFiles', '$maxBytes');

const MATCHES = `
  ${IS_SELECTED}
  AND ($nearLimit::float8 IS NULL OR ${FULLNESS} >= $nearLimit::float8)
  AND ($scope::text[] IS NULL OR id = ANY ($scope::text[]))`;

export const listByIdQuery = defineQuery<Filter & { after: string; limit: number }, ListedTenant>(
  'list_tenants_by_id',
  `SELECT ${LISTED} FROM tenants WHERE id > $after AND ${MATCHES} ORDER BY id LIMIT $limit::bigint`,
);

export const findListedQuery = defineQuery<{ tenant: string }, ListedTenant>(
  'find_listed_tenant',
  `SELECT ${LISTED} FROM tenants WHERE id = $tenant`,
);

export const listByKeyQuery = defineQuery<
  Filter & { order: string; afterKey: number | null; afterId: string | null; limit: number },
  ListedTenant & { key: number }
>(
  'list_tenants_by_key',
  `
SELECT ${LISTED}, key FROM (
  SELECT *, CASE $order::text
    WHEN 'files' THEN file_count::float8
    WHEN 'bytes' THEN byte_count::float8
    WHEN 'used' THEN ${FULLNESS}
    ELSE COALESCE(extract(epoch FROM last_change_at)::float8, 0)
  END AS key FROM tenants WHERE ${MATCHES}
) AS t
WHERE $afterKey::float8 IS NULL OR key < $afterKey::float8 OR (key = $afterKey::float8 AND id > $afterId)
ORDER BY key DESC, id LIMIT $limit::bigint
`,
);

/** Totals over the tenants that match a filter. */
export interface MatchTotals {
  tenants: number;
  files: number;
  bytes: number;
  historyBytes: number;
}

const matchTotalsQuery = defineQuery<Filter, MatchTotals>(
  'count_tenants',
  `SELECT count(*)::float8 AS tenants, COALESCE(sum(file_count), 0)::float8 AS files,
  COALESCE(sum(byte_count), 0)::float8 AS bytes, COALESCE(sum(history_bytes), 0)::float8 AS "historyBytes"
FROM tenants WHERE ${MATCHES}`,
);

/**
 * Order for a list of tenants. `id` is ascending. The others are descending: most files or bytes first, or latest
 * change first, and then by ID.
 */
export type TenantOrder = 'id' | 'files' | 'bytes' | 'used' | 'changed';

/** Filter for a list of tenants. All conditions must match. */
export interface TenantFilter extends TenantConditions {
  /** Minimum used percentage of a limit on files or bytes. */
  nearLimit?: number | undefined;
  /** Tenants that the caller may see; null means all. */
  scope?: string[] | null;
}

/** Last tenant on a page: its ID and its sort key. */
export interface TenantPosition {
  key: number;
  id: string;
}

/** @throws ServiceError if the tenant does not exist */
export async function findListedTenant(database: Database, tenant: string): Promise<ListedTenant> {
  const [row] = (await database.query(findListedQuery, { tenant })).rows;
  if (row === undefined) throw new ServiceError('no_such_tenant', tenant);
  return row;
}

/** Reads a page of tenants. Throws `DatabaseError`. */
export async function readTenantPage(
  database: Database,
  config: Config,
  { order, ...selection }: TenantFilter & { order: TenantOrder },
  { after, limit }: { after: TenantPosition | null; limit: number },
): Promise<Page<ListedTenant, TenantPosition>> {
  const params = { ...filterParams(selection, config), limit: limit + 1 };
  if (order === 'id') {
    const { rows } = await database.query(listByIdQuery, { ...params, after: after?.id ?? '' });
    return cutPage(rows, limit, ({ id }) => ({ key: 0, id }));
  }
  const position = { afterKey: after?.key ?? null, afterId: after?.id ?? null };
  const { rows } = await database.query(listByKeyQuery, { ...params, ...position, order });
  return cutPage(rows, limit, ({ key, id }) => ({ key, id }));
}

/** Counts the tenants that match, with their files and sizes. Throws `DatabaseError`. */
export async function countTenants(
  database: Database,
  config: Config,
  filter: TenantFilter,
): Promise<MatchTotals> {
  const [totals] = (await database.query(matchTotalsQuery, filterParams(filter, config))).rows;
  if (totals === undefined) throw new Error('An aggregate returned no row.');
  return totals;
}

function filterParams({ nearLimit, scope = null, ...conditions }: TenantFilter, config: Config): Filter {
  const { maxFiles, maxBytes } = tenantDefaults(config);
  return {
    ...conditionParams(conditions),
    nearLimit: nearLimit ?? null,
    maxFiles,
    maxBytes,
    scope,
  };
}
