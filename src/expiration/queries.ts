import { defineQuery } from '../postgres/query.ts';
import { LOCK_TENANT } from '../tenants/queries.ts';

/** The tenants whose files expire, in the order of their ids, a page at a time. */
export const tenantsWithTtlQuery = defineQuery<
  { after: string; defaultTtlDays: number; limit: number },
  { id: string; ttlDays: number }
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
  { tenant: string; before: string; limit: number },
  { files: number; bytes: number }
>(
  'expire',
  ['tenant', 'before', 'limit'],
  'SELECT files::float8, bytes::float8 FROM memory_expire($1, $2::timestamptz, $3::integer)',
);

/** Notes that files were read, where the last such note is old enough. */
export const touchQuery = defineQuery<{
  tenant: string;
  paths: string[];
  now: string;
  accessedBefore: string;
}>(
  'touch',
  ['tenant', 'paths', 'now', 'accessedBefore'],
  `
WITH tenant AS MATERIALIZED (${LOCK_TENANT})
UPDATE entries AS e SET accessed_at = $3::timestamptz FROM tenant
WHERE e.tenant_id = $1 AND e.path = ANY ($2::text[]) AND e.kind = 'file' AND e.accessed_at < $4::timestamptz
`,
);

/** The next tenant that has answers under idempotency keys: one step along the primary key, not a scan of it. */
export const nextTenantWithAnswersQuery = defineQuery<{ after: string }, { tenant: string }>(
  'next_tenant_with_answers',
  ['after'],
  'SELECT tenant_id AS tenant FROM idempotency_keys WHERE tenant_id > $1 ORDER BY tenant_id LIMIT 1',
);

/** Forgets up to so many of a tenant's answers that are older than a time. */
export const pruneAnswersQuery = defineQuery<{ tenant: string; before: string; limit: number }>(
  'prune_answers',
  ['tenant', 'before', 'limit'],
  `
DELETE FROM idempotency_keys WHERE tenant_id = $1 AND key_hash IN (
  SELECT key_hash FROM idempotency_keys WHERE tenant_id = $1 AND created_at < $2::timestamptz
  ORDER BY created_at LIMIT $3::integer
)
`,
);

/** The database's time, by which rows are old: the clock of a replica may be wrong. */
export const databaseTimeQuery = defineQuery<Record<string, never>, { now: string }>(
  'database_time',
  [],
  'SELECT now() AS now',
);

export const expirationQueries = [
  tenantsWithTtlQuery,
  countExpiredQuery,
  expireQuery,
  touchQuery,
  nextTenantWithAnswersQuery,
  pruneAnswersQuery,
  databaseTimeQuery,
] as const;
