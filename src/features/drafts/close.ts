import type { Config } from '../../core/config.ts';
import type { Database } from '../../core/database/database.ts';
import { defineQuery, type QueryExecutor, time } from '../../core/database/query.ts';
import { runTenantJob } from '../../core/database/tenant-job.ts';
import { type Actor, storedActor } from '../../core/memory/origin.ts';
import { recordEvent } from '../../core/tenants/events.ts';
import { findTenantQuery, lockTenantQuery } from '../../core/tenants/queries.ts';
import { archiveStoreQuery } from '../../core/tenants/stores.ts';
import { Tenants } from '../../core/tenants/tenants.ts';
import type { DraftIds } from './contents.ts';
import { closeDraftQuery, type Draft, type DraftState, findDraft, findOpenDraft } from './drafts.ts';
import { expiryAfter, readDraftDays, readLastUse } from './records.ts';

export interface Closing {
  state: Exclude<DraftState, 'open'>;
  by: Actor;
  /** Time that all the merge's versions share. */
  mergedAt?: string | null;
}

/**
 * Closes a draft and rejects further writes to it, in a transaction that has locked the tenant and the draft. The
 * caller must call `deleteMemory` after the commit.
 */
export async function closeLocked(
  query: QueryExecutor,
  { tenant, draft }: DraftIds,
  { state, by, mergedAt = null }: Closing,
): Promise<void> {
  const at = new Date().toISOString();
  await query(closeDraftQuery, { tenant, id: draft, state, at, by: storedActor(by), mergedAt });
  await query(archiveStoreQuery, { tenant: draft });
  const isMerged = state === 'merged' || state === 'replaced';
  const type = isMerged ? 'draft_merged' : 'draft_rejected';
  await recordEvent(query, tenant, { type, draft: { id: draft, state } }, by);
}

/** Deletes a closed draft's memory. The hourly job completes an interrupted deletion. */
export function deleteMemory(database: Database, draft: string): Promise<void> {
  return new Tenants(database).deleteDraft(draft);
}

/**
 * Closes a draft without a merge. Only its record is kept.
 *
 * @throws ServiceError if the draft does not exist or is closed
 */
export async function closeDraft(
  database: Database,
  ids: DraftIds,
  closing: Closing & { state: 'rejected' | 'expired' },
): Promise<Draft> {
  const { tenant, draft } = ids;
  await database.transaction(async (query) => {
    // In the same order as a merge.
    await query(lockTenantQuery, { tenant });
    await query(lockTenantQuery, { tenant: draft });
    await findOpenDraft(query, tenant, draft);
    await closeLocked(query, ids, closing);
  });
  await deleteMemory(database, draft);
  return findDraft(database.query, tenant, draft);
}

/*
 * The hourly job on drafts: closes unused drafts, and deletes the memories that interrupted creations and closings left
 * behind.
 */

/** Minimum age before an unregistered memory is deleted. Long enough for a copy in progress. */
const UNFINISHED_MS = 60 * 60 * 1000;

interface DraftMemory {
  id: string;
  tenant: string;
  createdAt: string;
}

const listDraftMemoriesQuery = defineQuery<{ after: string; limit: number }, DraftMemory>(
  'list_draft_memories',
  `
SELECT id, draft_of AS tenant, ${time('created_at')} AS "createdAt" FROM tenants
WHERE draft_of IS NOT NULL AND id > $after ORDER BY id LIMIT $limit::bigint
`,
);

const findOpenQuery = defineQuery<{ tenant: string; id: string }, { viaTenant: string | null }>(
  'find_open_draft',
  `SELECT via_tenant AS "viaTenant" FROM drafts WHERE tenant_id = $tenant AND id = $id AND state = 'open'`,
);

/** Whether the tenant through whose mount a draft's proposer writes no longer mounts the draft's original. */
async function isUnmounted(
  query: QueryExecutor,
  ids: { tenant: string; id: string },
  viaTenant: string,
): Promise<boolean> {
  const [via] = (await query(findTenantQuery, { tenant: viaTenant })).rows;
  if (via?.mounts.some(({ tenant }) => tenant === ids.tenant)) return false;
  // Renaming either tenant changes the draft's record.
  return (await query(findOpenQuery, ids)).rows[0]?.viaTenant === viaTenant;
}

export interface ExpiredDrafts {
  /** Number of drafts closed because they were unused. */
  expired: number;
  /** Number of drafts closed because the proposer's mount has ended. */
  rejected: number;
  /** Number of deleted memories whose draft was closed or never registered. */
  deleted: number;
}

/**
 * Closes the drafts that were not read or written for the number of days in the tenant's setting, which defaults to
 * `DRAFT_DAYS`, and the drafts whose proposers no longer have the mount.
 *
 * @returns undefined if another replica is running the job
 */
export async function expireDrafts(
  database: Database,
  config: Pick<Config, 'DRAFT_DAYS'>,
  now?: Date,
): Promise<ExpiredDrafts | undefined> {
  const done: ExpiredDrafts = { expired: 0, rejected: 0, deleted: 0 };
  const ran = await runTenantJob<DraftMemory>(database, {
    job: 'drafts',
    now,
    readTenants: (page) => database.query(listDraftMemoriesQuery, page),
    work: async ({ id, tenant, createdAt }, at) => {
      const [open] = (await database.query(findOpenQuery, { tenant, id })).rows;
      if (open === undefined) {
        if (at.getTime() - Date.parse(createdAt) < UNFINISHED_MS) return;
        await new Tenants(database).deleteDraft(id);
        done.deleted++;
        return;
      }
      const by = { type: 'system', job: 'drafts' } as const;
      const { viaTenant } = open;
      if (viaTenant !== null && (await isUnmounted(database.query, { tenant, id }, viaTenant))) {
        await closeDraft(database, { tenant, draft: id }, { state: 'rejected', by });
        done.rejected++;
        return;
      }
      const draftDays = (await readDraftDays(database.query, config, [tenant])).get(tenant) ?? 0;
      const expiry = expiryAfter(await readLastUse(database.query, { id, createdAt }), draftDays);
      if (expiry === null || at.getTime() < expiry) return;
      await closeDraft(database, { tenant, draft: id }, { state: 'expired', by });
      done.expired++;
    },
  });
  return ran ? done : undefined;
}
