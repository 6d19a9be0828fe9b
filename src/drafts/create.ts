import { randomUUID } from 'node:crypto';
import type { Config } from '../config.ts';
import { ServiceError } from '../errors.ts';
import { type Actor, storedActor } from '../memory/origin.ts';
import type { Database } from '../postgres/database.ts';
import type { QueryExecutor } from '../postgres/query.ts';
import { effectiveSettings } from '../tenants/effective-settings.ts';
import { findTenantQuery, lockTenantQuery, suspendTenantQuery, type TenantRow } from '../tenants/queries.ts';
import { refuseArchived } from '../tenants/stores.ts';
import { followSettings, requireSameTenant, requireTenant, Tenants } from '../tenants/tenants.ts';
import { copyToDraft } from './copy.ts';
import { type Draft, findDraft, findKeyDraftQuery, insertDraftQuery, openDrafts } from './drafts.ts';

export interface NewDraft {
  title: string;
  author: Actor;
  /** Begins with the memory at this time; by default now. */
  at?: string | undefined;
  /** Of a propose-only key, which has at most one open draft. */
  keyId?: string | undefined;
  /** When the tenant was created, where a later tenant with its id is another one. */
  tenantCreatedAt?: string | undefined;
}

/**
 * Creates a draft of a tenant's memory. The tenant's writers do not wait while it is copied, only briefly while it is counted.
 *
 * @returns with `keyId`, the draft that another request of the key has created in the meantime
 * @throws ServiceError when there is no such tenant, it is archived or a draft itself, it has too many drafts or they would take too
 *   much, and for a time before the history is complete
 */
export async function createDraft(
  database: Database,
  config: Config,
  tenant: string,
  { title, author, at, keyId, tenantCreatedAt }: NewDraft,
): Promise<Draft> {
  const found = await requireTenant(database, tenant);
  const { createdAt } = found;
  if ((tenantCreatedAt ?? createdAt) !== createdAt) throw new ServiceError('tenant_replaced', tenant);
  if (found.draftOf !== null) throw new ServiceError('draft_of_draft', tenant);
  await refuseArchived(database.query, tenant);
  await checkQuota(database.query, config, found);
  const id = `draft_${randomUUID().replaceAll('-', '')}`;
  const baseAt = await database.transaction(
    async (query) => {
      const source = await requireTenant({ query }, tenant);
      if (source.createdAt !== createdAt) throw new ServiceError('tenant_replaced', tenant);
      const maxBytes = await checkQuota(query, config, source);
      return copyToDraft(query, source, { id, at: at ?? null, maxBytes });
    },
    { snapshot: 'writable' },
  );
  try {
    const registered = await database.transaction((query) =>
      register(query, config, { tenant, id, title, author, keyId: keyId ?? null, baseAt }, createdAt),
    );
    if (registered !== id) await new Tenants(database).deleteDraft(id);
    return await findDraft(database.query, tenant, registered);
  } catch (error) {
    await new Tenants(database).deleteDraft(id);
    throw error;
  }
}

/** Counts a draft that is copied. Returns its id, or that of the draft that its key has already. */
async function register(
  query: QueryExecutor,
  config: Config,
  draft: Omit<Draft, 'createdAt' | 'state' | 'closedAt' | 'closedBy' | 'mergedAt'>,
  /** Of the tenant whose memory was copied. */
  createdAt: string,
): Promise<string> {
  const { tenant, id, keyId, author } = draft;
  if ((await query(lockTenantQuery, { tenant })).rows.length === 0)
    throw new ServiceError('no_such_tenant', tenant);
  await requireSameTenant({ query }, tenant, createdAt);
  await refuseArchived(query, tenant);
  if (keyId !== null) {
    const [existing] = (await query(findKeyDraftQuery, { tenant, keyId })).rows;
    if (existing !== undefined) return existing.id;
  }
  const [row] = (await query(findTenantQuery, { tenant })).rows;
  const [own] = (await query(findTenantQuery, { tenant: id })).rows;
  if (row === undefined || own === undefined) throw new ServiceError('no_such_tenant', tenant);
  await checkQuota(query, config, row, own.bytes);
  await query(insertDraftQuery, { ...draft, author: storedActor(author) });
  // Since the draft was copied, they may have changed.
  await followSettings(query, row, id);
  if (row.suspendedAt !== null) await query(suspendTenantQuery, { tenant: id, since: row.suspendedAt });
  return id;
}

/**
 * Checks that a tenant may have one more draft.
 *
 * @param bytes the size of the draft
 * @returns how large the draft may get; null: the tenant's limit
 * @throws ServiceError when it may not
 */
async function checkQuota(
  query: QueryExecutor,
  config: Config,
  row: TenantRow,
  bytes = row.bytes,
): Promise<number | null> {
  const { maxDrafts, maxDraftBytes, maxBytes } = effectiveSettings(row, config);
  const open = await openDrafts(query, row.id);
  if (maxDrafts > 0 && open.count >= maxDrafts) throw new ServiceError('too_many_drafts', row.id, maxDrafts);
  if (maxDraftBytes === 0) return null;
  const left = maxDraftBytes - open.bytes;
  if (left <= 0 || bytes > left)
    throw new ServiceError('drafts_too_large', row.id, open.bytes, maxDraftBytes, bytes);
  return maxBytes === 0 ? left : Math.min(maxBytes, left);
}
