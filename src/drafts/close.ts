import { type Actor, storedActor } from '../memory/origin.ts';
import type { Database } from '../postgres/database.ts';
import type { QueryExecutor } from '../postgres/query.ts';
import { lockTenantQuery } from '../tenants/queries.ts';
import { archiveStoreQuery } from '../tenants/store-queries.ts';
import { Tenants } from '../tenants/tenants.ts';
import type { DraftIds } from './contents.ts';
import { closeDraftQuery, type Draft, type DraftState, findDraft, findOpenDraft } from './drafts.ts';

export interface Closing {
  state: Exclude<DraftState, 'open'>;
  by: Actor;
  /** The time of the versions of a merge. */
  mergedAt?: string | null;
}

/**
 * Closes a draft in a transaction that has locked it, and lets nobody write to it any more. `deleteMemory` is to follow.
 */
export async function closeLocked(
  query: QueryExecutor,
  { tenant, draft }: DraftIds,
  { state, by, mergedAt = null }: Closing,
): Promise<void> {
  const at = new Date().toISOString();
  await query(closeDraftQuery, { tenant, id: draft, state, at, by: storedActor(by), mergedAt });
  await query(archiveStoreQuery, { tenant: draft });
}

/** Deletes the memory of a draft that is closed. If it is interrupted, the hourly job goes on. */
export function deleteMemory(database: Database, draft: string): Promise<void> {
  return new Tenants(database).deleteDraft(draft);
}

/**
 * Closes a draft without merging it: only its record remains.
 *
 * @throws ServiceError when there is no such draft, or it is closed
 */
export async function closeDraft(
  database: Database,
  ids: DraftIds,
  closing: Closing & { state: 'rejected' | 'expired' },
): Promise<Draft> {
  const { tenant, draft } = ids;
  await database.transaction(async (query) => {
    await query(lockTenantQuery, { tenant: draft });
    await findOpenDraft(query, tenant, draft);
    await closeLocked(query, ids, closing);
  });
  await deleteMemory(database, draft);
  return findDraft(database.query, tenant, draft);
}
