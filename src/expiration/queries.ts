import { defineQuery } from '../postgres/query.ts';

export interface TenantWithTtl {
  id: string;
  ttlDays: number;
}

/** The tenants whose files expire, in the order of their ids, a page at a time. */
export const tenantsWithTtlQuery = defineQuery<
  { after: string; defaultTtlDays: number; limit: number },
  TenantWithTtl
>(
  'tenants_with_ttl',
  ['after', 'defaultTtlDays', 'limit'],
  `
SELECT id, COALESCE(ttl_days, $2::bigint)::float8 AS "ttlDays" FROM tenants
WHERE id > $1 AND COALESCE(ttl_days, $2::bigint) > 0 ORDER BY id LIMIT $3
`,
);

const EXPIRED = `kind = 'file' AND accessed_at < $2::timestamptz AND updated_at < $2::timestamptz`;

export const countExpiredQuery = defineQuery<
  { tenant: string; before: string },
  { files: number; bytes: number }
>(
  'count_expired',
  ['tenant', 'before'],
  `
SELECT count(*)::float8 AS files, coalesce(sum(size_bytes), 0)::float8 AS bytes FROM entries
WHERE tenant_id = $1 AND ${EXPIRED}
`,
);

/** Removes a batch of files that were neither read nor written since a time. */
export const expireQuery = defineQuery<
  {
    tenant: string;
    before: string;
    limit: number;
    change: string;
    origin: string;
    historyDays: number;
    maxHistoryBytes: number;
  },
  { files: number; bytes: number }
>(
  'expire',
  ['tenant', 'before', 'limit', 'change', 'historyDays', 'maxHistoryBytes', 'origin'],
  `
SELECT files::float8, bytes::float8
FROM memory_expire($1, $2::timestamptz, $3::integer, $4::text::uuid, $5::bigint, $6::bigint, $7::text::jsonb)
`,
);
