import { statement } from '../statement.ts';
import { LOCK_TENANT } from './writing.ts';

/** The tenants whose files expire, in the order of their ids, a page at a time. */
export const tenantsWithTtlStatement = statement<
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

export const countExpiredStatement = statement<
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
export const expireStatement = statement<
  { tenant: string; before: string; limit: number },
  { files: number; bytes: number }
>(
  'expire',
  ['tenant', 'before', 'limit'],
  `
WITH tenant AS MATERIALIZED (${LOCK_TENANT}
), gone AS (
  DELETE FROM entries AS e USING tenant
  WHERE e.tenant_id = $1 AND ${EXPIRED.replaceAll(/\b(kind|accessed_at|updated_at)\b/g, 'e.$1')}
    AND e.path IN (SELECT path FROM entries WHERE tenant_id = $1 AND ${EXPIRED} LIMIT $3)
  RETURNING e.size_bytes
), freed AS (
  SELECT count(*) AS files, coalesce(sum(size_bytes), 0) AS bytes FROM gone
)
UPDATE tenants AS t SET file_count = t.file_count - freed.files, byte_count = t.byte_count - freed.bytes
FROM freed WHERE t.id = $1 AND freed.files > 0
RETURNING freed.files::float8 AS files, freed.bytes::float8 AS bytes
`,
);

/** The next tenant that has answers under idempotency keys: one step along the primary key, not a scan of it. */
export const nextTenantWithAnswersStatement = statement<{ after: string }, { tenant: string }>(
  'next_tenant_with_answers',
  ['after'],
  'SELECT tenant_id AS tenant FROM idempotency_keys WHERE tenant_id > $1 ORDER BY tenant_id LIMIT 1',
);

export const pruneAnswersStatement = statement<{ tenant: string; before: string }>(
  'prune_answers',
  ['tenant', 'before'],
  'DELETE FROM idempotency_keys WHERE tenant_id = $1 AND created_at < $2::timestamptz',
);

export const expirationStatements = [
  tenantsWithTtlStatement,
  countExpiredStatement,
  expireStatement,
  nextTenantWithAnswersStatement,
  pruneAnswersStatement,
] as const;
