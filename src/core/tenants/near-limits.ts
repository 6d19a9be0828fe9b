import { defineQuery, type QueryExecutor } from '../database/query.ts';
import type { Quotas } from '../memory/memory-store.ts';
import { type Actor, storedActor } from '../memory/origin.ts';
import type { TenantRow } from './queries.ts';

/** A tenant's usage and its own limits before a change. */
type Before = Pick<TenantRow, 'id' | 'files' | 'bytes' | 'maxFiles' | 'maxBytes'>;

const recordNearLimitsQuery = defineQuery<
  { tenant: string; ownMaxFiles: number | null; ownMaxBytes: number | null; actor: string } & Quotas &
    Pick<Before, 'files' | 'bytes'>
>(
  'record_near_limits',
  `
SELECT memory_record_near_limits(
  $tenant, $files::bigint, $ownMaxFiles::bigint, $bytes::bigint, $ownMaxBytes::bigint, $maxFiles::bigint,
  $maxBytes::bigint, $actor::jsonb
)
`,
);

/**
 * Records an event for each limit that a change has brought near: usage was below 90 %, and now is not. Call this after
 * the change, in its transaction. The functions for single writes do it themselves. Throws `DatabaseError`.
 *
 * @param quotas the service's limits for tenants without their own
 */
export async function recordNearLimits(
  query: QueryExecutor,
  { id: tenant, files, bytes, maxFiles: ownMaxFiles, maxBytes: ownMaxBytes }: Before,
  { maxFiles, maxBytes }: Quotas,
  by: Actor,
): Promise<void> {
  const before = { files, bytes, ownMaxFiles, ownMaxBytes };
  await query(recordNearLimitsQuery, { tenant, ...before, maxFiles, maxBytes, actor: storedActor(by) });
}
