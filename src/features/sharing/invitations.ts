import { hash, randomBytes } from 'node:crypto';
import type { Database } from '../../core/database/database.ts';
import { defineQuery, type QueryExecutor, time } from '../../core/database/query.ts';
import { ServiceError } from '../../core/errors/errors.ts';
import type { Mount } from '../../core/memory/mount.ts';
import type { MemoryPath } from '../../core/memory/path.ts';
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
  /** Path outside which nothing is shared; null for the whole memory. */
  prefix: MemoryPath | null;
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
  /** Key without which the invitation is no longer valid; null for an invitation from an operator or a token. */
  keyId: string | null;
  createdAt: string;
  expiresAt: string;
}

const COLUMNS = `
  id, tenant_id AS tenant, access, prefix, is_reusable AS "isReusable", accepted::float8 AS accepted, key_id AS "keyId",
  ${time('created_at')} AS "createdAt", ${time('expires_at')} AS "expiresAt"`;

/** SQL condition: whether an invitation has not expired, and one of `$keys` created it, or no key. */
const IS_VALID = 'expires_at > now() AND (key_id IS NULL OR key_id = ANY ($keys::text[]))';

/** Lists the tenant's keys that may share now. A separate query, because Citus stores the tables differently. */
const listKeysQuery = defineQuery<{ tenant: string }, { id: string }>(
  'list_sharing_keys',
  `
SELECT id FROM api_keys
WHERE tenant_id = $tenant AND can_share AND rotated_at IS NULL AND revoked_at IS NULL
  AND (expires_at IS NULL OR expires_at > now())
`,
);

const insertQuery = defineQuery<
  {
    id: string;
    hash: string;
    giver: string;
    access: string;
    prefix: string | null;
    isReusable: boolean;
    keyId: string | null;
    seconds: number;
    keys: string[];
    max: number;
  },
  Invitation
>(
  'insert_invitation',
  `
INSERT INTO invitations (id, hash, tenant_id, access, prefix, is_reusable, key_id, created_at, expires_at)
SELECT $id, $hash, $giver, $access, $prefix::text, $isReusable::boolean, $keyId::text, now(),
  now() + make_interval(secs => $seconds)
WHERE (SELECT count(*) FROM invitations WHERE tenant_id = $giver AND ${IS_VALID}) < $max::bigint
`,
);

const listQuery = defineQuery<{ tenant: string; keys: string[] }, Invitation>(
  'list_invitations',
  `SELECT ${COLUMNS} FROM invitations WHERE tenant_id = $tenant AND ${IS_VALID} ORDER BY created_at, id`,
);

const revokeQuery = defineQuery<{ tenant: string; id: string }>(
  'revoke_invitation',
  'DELETE FROM invitations WHERE id = $id AND tenant_id = $tenant AND expires_at > now()',
);

const lockQuery = defineQuery<{ hash: string }, Invitation>(
  'lock_invitation',
  `SELECT ${COLUMNS} FROM invitations WHERE hash = $hash AND expires_at > now() FOR UPDATE`,
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
    const keys = await listKeys(query, tenant.id);
    const { count } = await query(insertQuery, { ...row, keys, max: MAX_INVITATIONS });
    if (count === 0) throw new ServiceError('too_many_invitations', tenant.id, MAX_INVITATIONS);
    const { rows } = await query(listQuery, {
      tenant: tenant.id,
      keys: keyId === null ? keys : [...keys, keyId],
    });
    return { ...(rows.find((each) => each.id === id) as Invitation), token };
  });
}

/** Lists a tenant's valid invitations, oldest first. */
export async function listInvitations({ query }: Database, tenant: string): Promise<Invitation[]> {
  return (await query(listQuery, { tenant, keys: await listKeys(query, tenant) })).rows;
}

/** @throws ServiceError 404 if the tenant has no such invitation */
export async function revokeInvitation({ query }: Database, tenant: string, id: string): Promise<void> {
  if ((await query(revokeQuery, { tenant, id })).count === 0)
    throw new ServiceError('no_such_invitation', id);
}

/** Locks an invitation, so that no other transaction uses it before this transaction's end. */
export async function lockInvitation(query: QueryExecutor, hash: string): Promise<Invitation | undefined> {
  return (await query(lockQuery, { hash })).rows[0];
}

/**
 * Uses a locked invitation.
 *
 * @throws ServiceError 404 if its key may no longer share
 */
export async function useInvitation(
  query: QueryExecutor,
  { id, tenant, keyId, isReusable }: Invitation,
): Promise<void> {
  const isSigned = keyId === null || (await listKeys(query, tenant)).includes(keyId);
  if (!isSigned) throw new ServiceError('invalid_invitation');
  await query(isReusable ? countQuery : deleteQuery, { id });
}

async function listKeys(query: QueryExecutor, tenant: string): Promise<string[]> {
  return (await query(listKeysQuery, { tenant })).rows.map(({ id }) => id);
}

/** Deletes expired invitations. */
export async function pruneInvitations({ query }: Database): Promise<void> {
  await query(pruneQuery, {});
}

export function hashToken(token: string): string {
  return hash('sha256', token, 'hex');
}
