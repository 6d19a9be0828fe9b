import { randomBytes } from 'node:crypto';
import { currentInstant } from '../../core/database/clock.ts';
import type { Database } from '../../core/database/database.ts';
import { defineQuery, type QueryExecutor, time } from '../../core/database/query.ts';
import { hasReason, ServiceError } from '../../core/errors/errors.ts';
import type { Mount } from '../../core/memory/mount.ts';
import type { Actor } from '../../core/memory/origin.ts';
import type { MemoryPath } from '../../core/memory/path.ts';
import { addMount, type MountStatus, mountStatuses, removeShare } from '../../core/tenants/mounts.ts';
import { findTenantQuery, type TenantRow } from '../../core/tenants/queries.ts';
import { requireTenant } from '../../core/tenants/tenants.ts';
import { hashToken, lockInvitation, type Party, useInvitation } from './invitations.ts';

/*
 * Shares: a mount in the receiving tenant, and a row for the giving tenant. Both change in one transaction, which locks
 * the invitation first, then the receiving tenant, and then the share.
 */

/** Maximum number of shares of a tenant's memory. */
export const MAX_SHARES = 1000;

/** A tenant's share, seen from the giving tenant. `tenant` is the receiving tenant. */
export interface GivenShare {
  id: string;
  tenant: string;
  access: Mount['access'];
  /** Path outside which nothing is shared; null for the whole memory. */
  prefix: MemoryPath | null;
  invitationId: string;
  createdAt: string;
}

/** A tenant's share, seen from the receiving tenant. `tenant` is the giving tenant. */
export interface ReceivedShare extends Pick<Mount, 'name' | 'tenant' | 'access' | 'prefix'> {
  id: string;
  createdAt: string;
  /** Null for a giving tenant outside the scope. */
  status: MountStatus | null;
}

/** The service's rules for sharing. */
export interface SharingRules {
  SHARING: 'on' | 'off';
  /** Metadata key whose value both tenants must have in common. */
  SHARING_SAME_METADATA?: string | undefined;
}

const insertQuery = defineQuery<{
  id: string;
  giver: string;
  receiver: string;
  invitationId: string;
  hash: string;
  access: string;
  prefix: string | null;
  createdAt: string;
  max: number;
}>(
  'insert_share',
  `
INSERT INTO shares (id, tenant_id, to_tenant, invitation_id, invitation_hash, access, prefix, created_at)
SELECT $id, $giver, $receiver, $invitationId, $hash, $access, $prefix::text, $createdAt::text::timestamptz
WHERE (SELECT count(*) FROM shares WHERE tenant_id = $giver) < $max::bigint
`,
);

const listQuery = defineQuery<{ tenant: string }, GivenShare>(
  'list_shares',
  `
SELECT id, to_tenant AS tenant, access, prefix, invitation_id AS "invitationId", ${time('created_at')} AS "createdAt"
FROM shares WHERE tenant_id = $tenant ORDER BY created_at, id
`,
);

const findQuery = defineQuery<{ tenant: string; id: string }, { receiver: string }>(
  'find_share',
  'SELECT to_tenant AS receiver FROM shares WHERE id = $id AND tenant_id = $tenant',
);

const findAcceptedQuery = defineQuery<{ id: string; hash: string }, { id: string }>(
  'find_accepted_share',
  'SELECT id FROM shares WHERE id = $id AND invitation_hash = $hash',
);

const SHARES_A_BATCH = 1000;

const listAllQuery = defineQuery<
  { after: string; limit: number },
  { id: string; giver: string; receiver: string }
>(
  'list_all_shares',
  'SELECT id, tenant_id AS giver, to_tenant AS receiver FROM shares WHERE id > $after ORDER BY id LIMIT $limit::bigint',
);

const metadataQuery = defineQuery<{ tenants: string[]; key: string }, { id: string; value: string }>(
  'list_metadata_values',
  `SELECT id, metadata ->> $key AS value FROM tenants WHERE id = ANY ($tenants::text[]) AND metadata ->> $key <> ''`,
);

/** @throws ServiceError 403 if the service does not allow sharing */
export function requireSharing({ SHARING }: SharingRules): void {
  if (SHARING === 'off') throw new ServiceError('sharing_off');
}

/**
 * Accepts an invitation: the tenant gets a mount with the giving tenant's memory. A repeated acceptance under the same
 * name returns the same share, for clients that did not receive the first response.
 *
 * @throws ServiceError if the invitation or the mount is invalid, or the two tenants may not share
 */
export async function acceptInvitation(
  database: Database,
  receiver: Party,
  { token, name, instructions }: Pick<Mount, 'name' | 'instructions'> & { token: string },
  rules: SharingRules,
  by: Actor,
): Promise<ReceivedShare> {
  requireSharing(rules);
  const hash = hashToken(token);
  const id = `shr_${randomBytes(6).toString('hex')}`;
  return database.transaction(async (query) => {
    const invitation = await lockInvitation(query, hash);
    const accepted = await findAccepted(query, receiver.id, { hash, name });
    if (accepted !== undefined) return accepted;
    if (invitation === undefined) throw new ServiceError('invalid_invitation');
    await useInvitation(query, invitation);
    const { tenant, access, prefix, id: invitationId } = invitation;
    if (tenant === receiver.id) throw new ServiceError('mounts_itself', tenant);
    const [giver] = (await query(findTenantQuery, { tenant })).rows;
    if (giver === undefined) throw new ServiceError('invalid_invitation');
    requireSameMetadata(giver, await requireTenant({ query }, receiver.id), rules);
    const createdAt = await currentInstant(query);
    const share = { id, createdAt };
    const seen = { name, tenant, access, ...(prefix !== null && { prefix }) };
    const mount = { ...seen, instructions, createdAt: giver.createdAt, share };
    await addMount(query, { tenant: receiver.id, createdAt: receiver.createdAt }, mount, by);
    const row = { id, giver: tenant, receiver: receiver.id, invitationId, hash, access, prefix, createdAt };
    const { count } = await query(insertQuery, { ...row, max: MAX_SHARES });
    if (count === 0) throw new ServiceError('too_many_shares', tenant, MAX_SHARES);
    return { ...share, ...seen, status: giver.suspendedAt === null ? 'ok' : 'suspended' };
  });
}

async function findAccepted(
  query: QueryExecutor,
  receiver: string,
  { hash, name }: { hash: string; name: string },
): Promise<ReceivedShare | undefined> {
  const mount = (await requireTenant({ query }, receiver)).mounts.find((each) => each.name === name);
  if (mount?.share === undefined) return undefined;
  const { rows } = await query(findAcceptedQuery, { id: mount.share.id, hash });
  if (rows.length === 0) return undefined;
  const [found] = await mountStatuses({ query }, { id: receiver, mounts: [mount] });
  return { ...mount, ...mount.share, status: found?.status ?? null };
}

function requireSameMetadata(
  giver: TenantRow,
  receiver: TenantRow,
  { SHARING_SAME_METADATA: key }: SharingRules,
): void {
  if (key === undefined) return;
  const value = (tenant: TenantRow) => (Object.hasOwn(tenant.metadata, key) ? tenant.metadata[key] : '');
  if (!value(giver) || value(giver) !== value(receiver)) throw new ServiceError('sharing_not_allowed', key);
}

/**
 * Lists the shares in which a tenant gives or receives, oldest first.
 *
 * @param scope tenants whose status may be revealed; null means all
 * @throws ServiceError if the tenant does not exist
 */
export async function listShares(
  database: Database,
  tenant: string,
  scope: readonly string[] | null = null,
): Promise<{ given: GivenShare[]; received: ReceivedShare[] }> {
  const mounts = (await requireTenant(database, tenant)).mounts.filter(({ share }) => share !== undefined);
  const [{ rows: given }, statuses] = await Promise.all([
    database.query(listQuery, { tenant }),
    mountStatuses(database, { id: tenant, mounts }, scope),
  ]);
  const received = mounts.flatMap((mount, i) =>
    mount.share === undefined ? [] : [{ ...mount, ...mount.share, status: statuses[i]?.status ?? null }],
  );
  return { given, received };
}

/**
 * Ends a share for both tenants. Either may end it.
 *
 * @returns the receiving tenant, which no longer has the mount
 * @throws ServiceError 404 if the tenant has no such share
 */
export async function endShare(database: Database, tenant: string, id: string, by: Actor): Promise<string> {
  const { mounts } = await requireTenant(database, tenant);
  if (mounts.some(({ share }) => share?.id === id)) {
    await removeShare(database, tenant, id, by);
    return tenant;
  }
  for (;;) {
    const [row] = (await database.query(findQuery, { tenant, id })).rows;
    if (row === undefined) throw new ServiceError('no_such_share', id);
    try {
      await removeShare(database, row.receiver, id, by);
      return row.receiver;
    } catch (error) {
      // A rename of the receiving tenant has changed the share in the same transaction.
      if (!hasReason(error, 'no_such_tenant')) throw error;
    }
  }
}

/** Ends the shares between tenants whose metadata no longer match, if the rules require a match. */
export async function endMismatchedShares(
  database: Database,
  { SHARING_SAME_METADATA: key }: SharingRules,
): Promise<void> {
  if (key === undefined) return;
  const by = { type: 'system', job: 'mismatched_shares' } as const;
  for (let after = ''; ; ) {
    const { rows: shares } = await database.query(listAllQuery, { after, limit: SHARES_A_BATCH });
    const tenants = [...new Set(shares.flatMap(({ giver, receiver }) => [giver, receiver]))];
    const { rows } = await database.query(metadataQuery, { tenants, key });
    const values = new Map(rows.map(({ id, value }) => [id, value]));
    for (const { id, giver, receiver } of shares) {
      const value = values.get(giver);
      if (value !== undefined && value === values.get(receiver)) continue;
      await removeShare(database, receiver, id, by).catch((error) => {
        // The receiving tenant was renamed or deleted. The next run finds the share under the new ID.
        if (!hasReason(error, 'no_such_tenant')) throw error;
      });
    }
    if (shares.length < SHARES_A_BATCH) return;
    after = shares.at(-1)?.id ?? '';
  }
}
