import { randomBytes } from 'node:crypto';
import { currentInstant } from '../../core/database/clock.ts';
import type { Database } from '../../core/database/database.ts';
import { defineQuery, time } from '../../core/database/query.ts';
import { hasReason, ServiceError } from '../../core/errors/errors.ts';
import type { Mount } from '../../core/memory/mount.ts';
import { addMount, type MountStatus, mountStatuses, removeShare } from '../../core/tenants/mounts.ts';
import { findTenantQuery, type TenantRow } from '../../core/tenants/queries.ts';
import { requireTenant } from '../../core/tenants/tenants.ts';
import { type Party, takeInvitation } from './invitations.ts';

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
  invitationId: string;
  createdAt: string;
}

/** A tenant's share, seen from the receiving tenant. `tenant` is the giving tenant. */
export interface ReceivedShare extends Pick<Mount, 'name' | 'tenant' | 'access'> {
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
  access: string;
  createdAt: string;
  max: number;
}>(
  'insert_share',
  `
INSERT INTO shares (id, tenant_id, to_tenant, invitation_id, access, created_at)
SELECT $id, $giver, $receiver, $invitationId, $access, $createdAt::text::timestamptz
WHERE (SELECT count(*) FROM shares WHERE tenant_id = $giver) < $max::bigint
`,
);

const listQuery = defineQuery<{ tenant: string }, GivenShare>(
  'list_shares',
  `
SELECT id, to_tenant AS tenant, access, invitation_id AS "invitationId", ${time('created_at')} AS "createdAt"
FROM shares WHERE tenant_id = $tenant ORDER BY created_at, id
`,
);

const findQuery = defineQuery<{ tenant: string; id: string }, { receiver: string }>(
  'find_share',
  'SELECT to_tenant AS receiver FROM shares WHERE id = $id AND tenant_id = $tenant',
);

/** @throws ServiceError 403 if the service does not allow sharing */
export function requireSharing({ SHARING }: SharingRules): void {
  if (SHARING === 'off') throw new ServiceError('sharing_off');
}

/**
 * Accepts an invitation: the tenant gets a mount with the giving tenant's memory.
 *
 * @throws ServiceError if the invitation or the mount is invalid, or the two tenants may not share
 */
export async function acceptInvitation(
  database: Database,
  receiver: Party,
  { token, name, instructions }: Pick<Mount, 'name' | 'instructions'> & { token: string },
  rules: SharingRules,
): Promise<ReceivedShare> {
  requireSharing(rules);
  const id = `shr_${randomBytes(6).toString('hex')}`;
  return database.transaction(async (query) => {
    const { tenant, access, id: invitationId } = await takeInvitation(query, token);
    if (tenant === receiver.id) throw new ServiceError('mounts_itself', tenant);
    const [giver] = (await query(findTenantQuery, { tenant })).rows;
    if (giver === undefined) throw new ServiceError('invalid_invitation');
    requireSameMetadata(giver, await requireTenant({ query }, receiver.id), rules);
    const createdAt = await currentInstant(query);
    const share = { id, createdAt };
    const mount = { name, tenant, access, instructions, createdAt: giver.createdAt, share };
    await addMount(query, { tenant: receiver.id, createdAt: receiver.createdAt }, mount);
    const row = { id, giver: tenant, receiver: receiver.id, invitationId, access, createdAt };
    const { count } = await query(insertQuery, { ...row, max: MAX_SHARES });
    if (count === 0) throw new ServiceError('too_many_shares', tenant, MAX_SHARES);
    return { ...share, name, tenant, access, status: giver.suspendedAt === null ? 'ok' : 'suspended' };
  });
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
  const received = mounts.flatMap(({ share, name, tenant, access }, i) =>
    share === undefined ? [] : [{ ...share, name, tenant, access, status: statuses[i]?.status ?? null }],
  );
  return { given, received };
}

/**
 * Ends a share for both tenants. Either may end it.
 *
 * @returns the receiving tenant, which no longer has the mount
 * @throws ServiceError 404 if the tenant has no such share
 */
export async function endShare(database: Database, tenant: string, id: string): Promise<string> {
  const { mounts } = await requireTenant(database, tenant);
  if (mounts.some(({ share }) => share?.id === id)) {
    await removeShare(database, tenant, id);
    return tenant;
  }
  for (;;) {
    const [row] = (await database.query(findQuery, { tenant, id })).rows;
    if (row === undefined) throw new ServiceError('no_such_share', id);
    try {
      await removeShare(database, row.receiver, id);
      return row.receiver;
    } catch (error) {
      // A rename of the receiving tenant has changed the share in the same transaction.
      if (!hasReason(error, 'no_such_tenant')) throw error;
    }
  }
}
