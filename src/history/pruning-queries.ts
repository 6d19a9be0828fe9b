import { defineQuery } from '../postgres/query.ts';
import { time } from '../postgres/time.ts';

/** What a tenant keeps of its history, by limits of its own or the given ones, and how much it has. */
export interface Retention {
  id: string;
  historyDays: number;
  maxHistoryBytes: number;
  historyBytes: number;
}

const RETENTION = `id, COALESCE(history_days, $2::bigint)::float8 AS "historyDays",
  COALESCE(max_history_bytes, $3::bigint)::float8 AS "maxHistoryBytes", history_bytes::float8 AS "historyBytes"`;

/** The tenants that have a history, in the order of their ids, a page at a time. */
export const tenantsWithHistoryQuery = defineQuery<
  { after: string; historyDays: number; maxHistoryBytes: number; limit: number },
  Retention
>(
  'tenants_with_history',
  ['after', 'historyDays', 'maxHistoryBytes', 'limit'],
  `
SELECT ${RETENTION} FROM tenants WHERE id > $1 AND history_bytes > 0 ORDER BY id LIMIT $4
`,
);

/** The same for one tenant, with a history or not. */
export const tenantRetentionQuery = defineQuery<
  { tenant: string; historyDays: number; maxHistoryBytes: number },
  Retention
>(
  'tenant_retention',
  ['tenant', 'historyDays', 'maxHistoryBytes'],
  `SELECT ${RETENTION} FROM tenants WHERE id = $1`,
);

/** Prunes a batch by age, and says after which version to go on; null at the end. See migrations/functions/memory_prune_history.sql. */
export const pruneOldQuery = defineQuery<
  { tenant: string; before: string; keep: number; after: string; afterId: string; limit: number },
  { versions: number; bytes: number; after: string | null; afterId: string | null }
>(
  'prune_old',
  ['tenant', 'before', 'keep', 'after', 'afterId', 'limit'],
  `
SELECT versions::float8, bytes::float8, ${time('next_after')} AS "after", next_after_id AS "afterId"
FROM memory_prune_old(
  $1, $2::timestamptz, $3::integer, $4::timestamptz, $5::text::uuid, $6::integer
)
`,
);

/** Prunes a batch of what is over the limit of bytes; nothing when the limit holds. */
export const pruneExcessQuery = defineQuery<
  { tenant: string; maxBytes: number; limit: number },
  { versions: number; bytes: number }
>(
  'prune_excess',
  ['tenant', 'maxBytes', 'limit'],
  'SELECT versions::float8, bytes::float8 FROM memory_prune_excess($1, $2::bigint, $3::integer)',
);
