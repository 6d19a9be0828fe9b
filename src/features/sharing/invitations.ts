import { hash, randomBytes } from 'node:crypto';
import type { Database } from '../../core/database/database.ts';
import { defineQuery, type QueryExecutor, time } from '../../core/database/query.ts';
import { ServiceError } from '../../core/errors/errors.ts';
import type { Mount } from '../../core/memory/mount.ts';
import { keepTenantQuery } from '../../core/tenants/key-queries.ts';
import { requireSameTenant } from '../../core/tenants/tenants.ts';

/* Invitations: secret tokens with which other tenants mount a tenant's memory. Times are ISO 8601. */

/** Maximum number of a tenant's invitations that are neither used nor expired. */
export const MAX_INVITATIONS = 100;

/** A token: a prefix and 32 random bytes in base64url. */
export const TOKEN = /^msi_[A-Za-z0-9_-]{43}$/;

/** A tenant, as the caller identified it. */
export interface Party {
  id: string;
  /** A later tenant with the same ID is rejected. */
  createdAt: string;
}

export interface InvitationOptions {
  access: Mount['access'];
  /** Whether several tenants may accept the invitation. */
  isReusable: boolean;
  expiresInSeconds: number;
}

export interface Invitation extends Omit<InvitationOptions, 'expiresInSeconds'> {
  id: string;
  /** The giving tenant. */
  tenant: string;
  /** Number of acceptances. */
  accepted: number;
  /** Key without which the invitation is no longer valid; null for an invitation from an operator. */
  keyId: string | null;
  createdAt: string;
  expiresAt: string;
}

const COLUMNS = `
  id, tenant_id AS tenant, access, is_reusable AS "isReusable", accepted::float8 AS accepted, key_id AS "keyId",
  ${time('created_at')} AS "createdAt", ${time('expires_at')} AS "expiresAt"`;

const insertQuery = defineQuery<
  {
    id: string;
    hash: string;
    giver: string;
    access: string;
    isReusable: boolean;
    keyId: string | null;
    seconds: number;
    max: number;
  },
  Invitation
>(
  'insert_invitation',
  `
INSERT INTO invitations (id, hash, tenant_id, access, is_reusable, key_id, created_at, expires_at)
SELECT $id, $hash, $giver, $access, $isReusable::boolean, $keyId::text, now(), now() + make_interval(secs => $seconds)
WHERE (SELECT count(*) FROM invitations WHERE tenant_id = $giver AND expires_at > now()) < $max::bigint
`,
);

const listQuery = defineQuery<{ tenant: string }, Invitation>(
  'list_invitations',
  `SELECT ${COLUMNS} FROM invitations WHERE tenant_id = $tenant AND expires_at > now() ORDER BY created_at, id`,
);

const revokeQuery = defineQuery<{ tenant: string; id: string }>(
  'revoke_invitation',
  'DELETE FROM invitations WHERE id = $id AND tenant_id = $tenant AND expires_at > now()',
);

const lockQuery = defineQuery<{ hash: string }, Invitation>(
  'lock_invitation',
  `SELECT ${COLUMNS} FROM invitations WHERE hash = $hash AND expires_at > now() FOR UPDATE`,
);

const findKeyQuery = defineQuery<{ keyId: string; tenant: string }, { id: string }>(
  'find_sharing_key',
  `
SELECT id FROM api_keys
WHERE id = $keyId AND tenant_id = $tenant AND can_share AND rotated_at IS NULL AND revoked_at IS NULL
  AND (expires_at IS NULL OR expires_at > now())
`,
);

const deleteQuery = defineQuery<{ id: string }>(
  'delete_invitation',
  'DELETE FROM invitations WHERE id = $id',
);

const countQuery = defineQuery<{ id: string }>(
  'count_acceptance',
  'UPDATE invitations SET accepted = accepted + 1 WHERE id = $id',
);

const pruneQuery = defineQuery<Record<string, never>>(
  'prune_invitations',
  'DELETE FROM invitations WHERE expires_at <= now()',
);

/**
 * Creates an invitation. Only the token's hash is stored.
 *
 * @param keyId the caller's key; null for an operator
 * @throws ServiceError if the tenant does not exist, or has `MAX_INVITATIONS`
 */
export async function createInvitation(
  database: Database,
  tenant: Party,
  { expiresInSeconds: seconds, ...options }: InvitationOptions,
  keyId: string | null,
): Promise<Invitation & { token: string }> {
  const id = `inv_${randomBytes(6).toString('hex')}`;
  const token = `msi_${randomBytes(32).toString('base64url')}`;
  return database.transaction(async (query) => {
    // A deletion of the tenant waits, and then deletes the invitation too.
    const kept = (await query(keepTenantQuery, { tenant: tenant.id })).rows.length > 0;
    await requireSameTenant({ query }, tenant.id, tenant.createdAt);
    if (!kept) throw new ServiceError('no_such_tenant', tenant.id);
    const row = { id, hash: hashToken(token), giver: tenant.id, ...options, keyId, seconds };
    const { count } = await query(insertQuery, { ...row, max: MAX_INVITATIONS });
    if (count === 0) throw new ServiceError('too_many_invitations', tenant.id, MAX_INVITATIONS);
    const { rows } = await query(listQuery, { tenant: tenant.id });
    return { ...(rows.find((each) => each.id === id) as Invitation), token };
  });
}

/** Lists a tenant's invitations that are neither used nor expired, oldest first. */
export async function listInvitations({ query }: Database, tenant: string): Promise<Invitation[]> {
  return (await query(listQuery, { tenant })).rows;
}

/** @throws ServiceError 404 if the tenant has no such invitation */
export async function revokeInvitation({ query }: Database, tenant: string, id: string): Promise<void> {
  if ((await query(revokeQuery, { tenant, id })).count === 0)
    throw new ServiceError('no_such_invitation', id);
}

/**
 * Uses an invitation in a transaction: no other transaction can use the same one before its end.
 *
 * @throws ServiceError 404 without a valid invitation
 */
export async function takeInvitation(query: QueryExecutor, token: string): Promise<Invitation> {
  const [invitation] = (await query(lockQuery, { hash: hashToken(token) })).rows;
  if (invitation === undefined) throw new ServiceError('invalid_invitation');
  const { id, tenant, keyId, isReusable } = invitation;
  const isSigned = keyId === null || (await query(findKeyQuery, { keyId, tenant })).rows.length > 0;
  if (!isSigned) throw new ServiceError('invalid_invitation');
  await query(isReusable ? countQuery : deleteQuery, { id });
  return invitation;
}

/** Deletes expired invitations. */
export async function pruneInvitations({ query }: Database): Promise<void> {
  await query(pruneQuery, {});
}

function hashToken(token: string): string {
  return hash('sha256', token, 'hex');
}
