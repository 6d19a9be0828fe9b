import { defineQuery } from '../postgres/query.ts';
import { time } from '../postgres/time-column.ts';
import { TENANT_COLUMNS, type TenantRow } from './queries.ts';

/** A tenant with times in ISO 8601; `lastChangeAt` is null for never. */
export interface ListedTenant extends TenantRow {
  lastChangeAt: string | null;
  /** Since when the history is complete. */
  historySince: string;
}

/** Null selects all. */
export type Filter = {
  search: string | null;
  prefix: string | null;
  suspended: boolean | null;
  nearLimit: number | null;
  /** The limits of tenants without limits of their own. */
  maxFiles: number;
  maxBytes: number;
  /** The only tenants that are seen. */
  scope: string[] | null;
};

const FILTER = ['search', 'prefix', 'suspended', 'nearLimit', 'maxFiles', 'maxBytes', 'scope'] as const;

const LISTED = `${TENANT_COLUMNS}, ${time('last_change_at')} AS "lastChangeAt",
  ${time('history_since')} AS "historySince"`;

/** As `percentOf`; -1 without a limit. */
const PERCENT = (used: string, own: string, limit: string) =>
  `COALESCE(floor(100 * ${used}::float8 / NULLIF(COALESCE(${own}, ${limit}::bigint), 0)), -1)`;

/** As `fullness`, with the parameters of the service's default limits. */
export const fullnessColumn = (maxFiles: string, maxBytes: string) =>
  `greatest(${PERCENT('file_count', 'max_files', maxFiles)}, ${PERCENT('byte_count', 'max_bytes', maxBytes)})`;

const FULLNESS = fullnessColumn('$5', '$6');

const MATCHES = `
  draft_of IS NULL AND ($1::text IS NULL OR strpos(lower(id), lower($1::text)) > 0 OR strpos(lower(name), lower($1::text)) > 0)
  AND ($2::text IS NULL OR starts_with(id, $2::text))
  AND ($3::boolean IS NULL OR (suspended_at IS NOT NULL) = $3::boolean)
  AND ($4::float8 IS NULL OR ${FULLNESS} >= $4::float8)
  AND ($7::text[] IS NULL OR id = ANY ($7::text[]))`;

export const listByIdQuery = defineQuery<Filter & { after: string; limit: number }, ListedTenant>(
  'list_tenants_by_id',
  [...FILTER, 'after', 'limit'],
  `SELECT ${LISTED} FROM tenants WHERE id > $8 AND ${MATCHES} ORDER BY id LIMIT $9::bigint`,
);

export const findListedQuery = defineQuery<{ tenant: string }, ListedTenant>(
  'find_listed_tenant',
  ['tenant'],
  `SELECT ${LISTED} FROM tenants WHERE id = $1`,
);

export const listByKeyQuery = defineQuery<
  Filter & { order: string; afterKey: number | null; afterId: string | null; limit: number },
  ListedTenant & { key: number }
>(
  'list_tenants_by_key',
  [...FILTER, 'order', 'afterKey', 'afterId', 'limit'],
  `
SELECT ${LISTED}, key FROM (
  SELECT *, CASE $8::text
    WHEN 'files' THEN file_count::float8
    WHEN 'bytes' THEN byte_count::float8
    WHEN 'used' THEN ${FULLNESS}
    ELSE COALESCE(extract(epoch FROM last_change_at)::float8, 0)
  END AS key FROM tenants WHERE ${MATCHES}
) AS t
WHERE $9::float8 IS NULL OR key < $9::float8 OR (key = $9::float8 AND id > $10)
ORDER BY key DESC, id LIMIT $11::bigint
`,
);
