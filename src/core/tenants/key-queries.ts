import { containsText, type SoughtPart } from '../database/contains-text.ts';
import { defineQuery, time } from '../database/query.ts';
import type { apiKeys } from '../database/schema/tenant-tables.ts';

export type KeyKind = 'tenant' | 'service' | 'admin';

/**
 * Column and type for each field that is set when a key is created, and that a rotation copies to the new secret's row.
 */
const FIELDS = {
  tenant: ['tenant_id', 'text'],
  isAdmin: ['is_admin', 'boolean'],
  managesStores: ['manages_stores', 'boolean'],
  canShare: ['can_share', 'boolean'],
  access: ['access', 'text'],
  onlyTenants: ['only_tenants', 'text[]'],
  rights: ['rights', 'jsonb'],
  label: ['label', 'text'],
  source: ['source', 'text'],
  expiresAt: ['expires_at', 'timestamptz'],
} as const satisfies Record<string, readonly [column: string, type: string]>;

/** `tenant` is null for service keys and admin keys. `expiresAt` is in ISO 8601, like all times in a key. */
export type KeyFields = { tenant: string | null; expiresAt: string | null } & Pick<
  typeof apiKeys.$inferSelect,
  Exclude<keyof typeof FIELDS, 'tenant' | 'expiresAt'>
>;

const FIELD_COLUMNS = Object.values(FIELDS)
  .map(([column]) => column)
  .join(', ');

/** A stored API key, without its secret. */
export interface KeyRow extends KeyFields {
  id: string;
  createdAt: string;
  revokedAt: string | null;
  lastUsedAt: string | null;
  /** Expiry of the secret before the last rotation, while that secret is valid. */
  previousExpiresAt: string | null;
}

/** Condition for a rotated key's secret that is still valid. */
const IS_PREVIOUS = (row: string) =>
  `${row}.rotated_at IS NOT NULL AND ${row}.revoked_at IS NULL AND ${row}.expires_at > now()`;

const SELECTED_FIELDS = Object.entries(FIELDS)
  .map(([field, [column, type]]) => `${type === 'timestamptz' ? time(column) : column} AS "${field}"`)
  .join(', ');
const COLUMNS = `id, ${SELECTED_FIELDS}, ${time('created_at')} AS "createdAt", ${time('revoked_at')} AS "revokedAt",
  ${time('last_used_at')} AS "lastUsedAt",
  (SELECT ${time('max(old.expires_at)')} FROM api_keys AS old WHERE old.id = api_keys.id
    AND ${IS_PREVIOUS('old')}) AS "previousExpiresAt"`;

/**
 * A key with times relative to now, in milliseconds by the database clock. A replica with a wrong clock would accept
 * expired keys.
 */
export interface FoundKeyRow
  extends Pick<
    KeyRow,
    | 'id'
    | 'label'
    | 'source'
    | 'tenant'
    | 'isAdmin'
    | 'managesStores'
    | 'canShare'
    | 'access'
    | 'onlyTenants'
    | 'rights'
  > {
  isRevoked: boolean;
  /** Creation time of the key's tenant; null for keys without a tenant. */
  tenantCreatedAt: string | null;
  /** Null for keys without an expiry. */
  expiresInMs: number | null;
  /** Null for unused keys. */
  usedMsAgo: number | null;
}

const milliseconds = (interval: string) => `(EXTRACT(EPOCH FROM ${interval}) * 1000)::double precision`;

export const findKeyQuery = defineQuery<{ hash: string }, Omit<FoundKeyRow, 'tenantCreatedAt'>>(
  'find_key',
  `
SELECT id, label, source, tenant_id AS tenant, is_admin AS "isAdmin", manages_stores AS "managesStores",
  can_share AS "canShare", access, only_tenants AS "onlyTenants", rights, revoked_at IS NOT NULL AS "isRevoked",
  ${milliseconds('expires_at - now()')} AS "expiresInMs", ${milliseconds('now() - last_used_at')} AS "usedMsAgo"
FROM api_keys WHERE hash = $hash
`,
);

/** `rights` is JSON. */
export type NewKeyParams = { [field in Exclude<keyof KeyFields, 'rights'>]: KeyFields[field] } & {
  rights: string | null;
  hash: string;
  id: string;
  creationKey: string | null;
  creationRequest: string | null;
};
const FIELD_PARAMS = Object.entries(FIELDS)
  .map(([field, [, type]]) => `$${field}::${type}`)
  .join(', ');
const CREATE_KEY = `
INSERT INTO api_keys (hash, id, creation_key, creation_request, ${FIELD_COLUMNS})
VALUES ($hash, $id, $creationKey, $creationRequest, ${FIELD_PARAMS})
`;

/** Locks a tenant against deletion until its new key is stored. Returns no row if the tenant does not exist. */
export const keepTenantQuery = defineQuery<{ tenant: string }, { draftOf: string | null }>(
  'keep_tenant',
  'SELECT draft_of AS "draftOf" FROM tenants WHERE id = $tenant FOR KEY SHARE',
);

export const createKeyQuery = defineQuery<NewKeyParams>('create_key', CREATE_KEY);

/** Creates a key. `count` is 0 if the key already exists, or was created under the same idempotency key. */
export const createKeyOnceQuery = defineQuery<NewKeyParams>(
  'create_key_once',
  `${CREATE_KEY}ON CONFLICT DO NOTHING`,
);

/** Deletes an idempotency key after 24 hours. */
export const forgetCreationQuery = defineQuery<{ creationKey: string }>(
  'forget_creation',
  `
UPDATE api_keys SET creation_key = NULL, creation_request = NULL
WHERE creation_key = $creationKey AND created_at < now() - interval '24 hours'
`,
);

/**
 * Finds and locks the key that was created under an idempotency key. `isUntouched`: whether the key has not been used,
 * rotated, or revoked since.
 */
export const findCreationQuery = defineQuery<
  { creationKey: string },
  { id: string; hash: string; request: string; isUntouched: boolean }
>(
  'find_creation',
  `
SELECT id, hash, creation_request AS request,
  last_used_at IS NULL AND rotated_at IS NULL AND revoked_at IS NULL AS "isUntouched"
FROM api_keys WHERE creation_key = $creationKey FOR UPDATE
`,
);

/** Replaces an unused secret. */
export const replaceSecretQuery = defineQuery<{ hash: string; newHash: string }>(
  'replace_secret',
  'UPDATE api_keys SET hash = $newHash WHERE hash = $hash',
);

/** Filter for a list of keys. Null fields do not filter. A rotated key is listed with its latest secret. */
export interface KeyFilter {
  tenant: string | null;
  /** Part of the tenant's ID, case-insensitive. */
  tenantContains: SoughtPart;
  kind: KeyKind | null;
  status: 'active' | 'expired' | 'revoked' | null;
  /** Part of the ID or the label, case-insensitive. */
  search: SoughtPart;
  /** Tenants whose keys the caller may see; null means all keys. */
  scope: string[] | null;
  /** Number of days for which the key was not used. A key that was never used counts from its creation. */
  unusedDays: number | null;
  /** Number of days within which an active key expires. */
  expiresInDays: number | null;
}

export type KeyOrder = 'created' | 'used' | 'expires';

const IN_SCOPE = (scope: string) => `(${scope}::text[] IS NULL OR tenant_id = ANY (${scope}::text[]))`;

/**
 * Number that sorts the listed keys in ascending order: the newest key first, the longest unused key first, or the
 * active key that expires next first. The order by expiry ends with keys that do not expire any more.
 */
const ORDER = `CASE $order::text
    WHEN 'used' THEN COALESCE(extract(epoch FROM last_used_at), 0)
    WHEN 'expires' THEN
      CASE WHEN revoked_at IS NULL AND expires_at > now() THEN extract(epoch FROM expires_at) ELSE 1e15 END
    ELSE -extract(epoch FROM created_at) END::double precision`;

/** Lists a page of keys, starting after the key with the number `afterKey` and the ID `afterId`. */
export const listKeysQuery = defineQuery<
  { [name in keyof KeyFilter]: KeyFilter[name] } & {
    order: KeyOrder;
    afterKey: number | null;
    afterId: string | null;
    limit: number;
  },
  KeyRow & { key: number }
>(
  'list_keys',
  `
SELECT ${COLUMNS}, ${ORDER} AS key FROM api_keys
WHERE rotated_at IS NULL AND ($tenant::text IS NULL OR tenant_id = $tenant)
  AND ($tenantContains::text[] IS NULL OR ${containsText('tenant_id', 'tenantContains')})
  AND ($afterId::text IS NULL OR (${ORDER}, id) > ($afterKey::double precision, $afterId::text))
  AND ($kind::text IS NULL OR $kind = CASE
    WHEN is_admin THEN 'admin' WHEN tenant_id IS NULL THEN 'service' ELSE 'tenant' END)
  AND ($status::text IS NULL OR $status = CASE WHEN revoked_at IS NOT NULL THEN 'revoked'
    WHEN expires_at <= now() THEN 'expired' ELSE 'active' END)
  AND ($search::text[] IS NULL OR ${containsText('id', 'search')} OR ${containsText('label', 'search')})
  AND ($unusedDays::integer IS NULL OR COALESCE(last_used_at, created_at) < now() - $unusedDays::integer * interval '1 day')
  AND ($expiresInDays::integer IS NULL
    OR (revoked_at IS NULL AND expires_at > now() AND expires_at < now() + $expiresInDays::integer * interval '1 day'))
  AND ${IN_SCOPE('$scope')}
ORDER BY key, id LIMIT $limit::bigint
`,
);

/** A rotated key's earlier secret that is still valid. */
export interface PreviousSecret {
  expiresAt: string;
  lastUsedAt: string | null;
}

export const getKeyQuery = defineQuery<{ id: string; scope: string[] | null }, KeyRow>(
  'get_key',
  `SELECT ${COLUMNS} FROM api_keys WHERE id = $id AND rotated_at IS NULL AND ${IN_SCOPE('$scope')}`,
);

export const previousSecretQuery = defineQuery<{ id: string }, PreviousSecret>(
  'previous_secret',
  `
SELECT ${time('expires_at')} AS "expiresAt", ${time('last_used_at')} AS "lastUsedAt" FROM api_keys
WHERE id = $id AND ${IS_PREVIOUS('api_keys')}
ORDER BY rotated_at DESC LIMIT 1
`,
);

/** Ends all earlier secrets for a key. */
export const endPreviousSecretsQuery = defineQuery<{ id: string }>(
  'end_previous_secrets',
  `UPDATE api_keys SET expires_at = now() WHERE id = $id AND ${IS_PREVIOUS('api_keys')}`,
);

/**
 * Locks a key's current secret, and thereby the key. Returns no row if a concurrent rotation has replaced the secret.
 */
export const lockKeyQuery = defineQuery<{ id: string }>(
  'lock_key',
  'SELECT id FROM api_keys WHERE id = $id AND rotated_at IS NULL FOR UPDATE',
);

/**
 * Locks a tenant's keys by their current secrets, before any other secrets, like `lock_key`. The common order prevents
 * deadlocks between changes to one key and changes to all keys.
 */
export const lockTenantKeysQuery = defineQuery<{ tenant: string }>(
  'lock_tenant_keys',
  'SELECT id FROM api_keys WHERE tenant_id = $tenant AND rotated_at IS NULL ORDER BY id FOR UPDATE',
);

/** Locks the admin keys that have a tenant in their scope, in the same order. */
export const lockScopedKeysQuery = defineQuery<{ tenant: string }>(
  'lock_scoped_keys',
  `
SELECT id FROM api_keys WHERE only_tenants IS NOT NULL AND $tenant::text = ANY (only_tenants) AND rotated_at IS NULL
ORDER BY id FOR UPDATE
`,
);

export const currentKeyQuery = defineQuery<
  { id: string; scope: string[] | null },
  KeyRow & { hash: string; isExpired: boolean }
>(
  'current_key',
  `
SELECT ${COLUMNS}, hash, COALESCE(expires_at <= now(), false) AS "isExpired" FROM api_keys
WHERE id = $id AND rotated_at IS NULL AND revoked_at IS NULL AND ${IN_SCOPE('$scope')}
`,
);

/** Changes all secrets for a key. Earlier secrets expire no later than the key. */
export const updateKeyQuery = defineQuery<{
  id: string;
  label: string;
  rights: string | null;
  expiresAt: string | null;
}>(
  'update_key',
  `
UPDATE api_keys SET label = $label, rights = $rights::jsonb,
  expires_at = CASE WHEN rotated_at IS NULL THEN $expiresAt::timestamptz
    ELSE least(expires_at, $expiresAt::timestamptz) END
WHERE id = $id
`,
);

/** Adds a new secret to a key, as a row with another hash. */
export const addSecretQuery = defineQuery<{ hash: string; newHash: string }>(
  'add_secret',
  `
INSERT INTO api_keys (hash, id, created_at, ${FIELD_COLUMNS})
SELECT $newHash, id, created_at, ${FIELD_COLUMNS}
FROM api_keys WHERE hash = $hash
`,
);

/** Retires a key's current secret at `until`, and all earlier secrets now. */
export const retireSecretsQuery = defineQuery<{ id: string; hash: string; now: string; until: string }>(
  'retire_secrets',
  `
UPDATE api_keys SET rotated_at = COALESCE(rotated_at, $now::timestamptz),
  expires_at = least(expires_at, CASE WHEN hash = $hash THEN $until::timestamptz ELSE $now::timestamptz END)
WHERE id = $id AND (hash = $hash OR ${IS_PREVIOUS('api_keys')})
`,
);

/**
 * Locks all secrets for a key, oldest first. Transactions that change several secrets lock in this order, because a
 * transaction that waits for the current secret keeps it locked after a rotation has replaced it.
 */
export const lockSecretsQuery = defineQuery<{ id: string }>(
  'lock_secrets',
  'SELECT hash FROM api_keys WHERE id = $id ORDER BY rotated_at NULLS LAST, hash FOR NO KEY UPDATE',
);

/** Revokes all secrets for a key. */
export const revokeKeyQuery = defineQuery<{ id: string }>(
  'revoke_key',
  'UPDATE api_keys SET revoked_at = now() WHERE id = $id AND revoked_at IS NULL',
);

/**
 * Locks keys in order to record their use. Skips keys locked by another session, because recorded uses are only hints.
 */
export const lockUsedKeysQuery = defineQuery<{ hashes: string[] }, { hash: string }>(
  'lock_used_keys',
  'SELECT hash FROM api_keys WHERE hash = ANY ($hashes::text[]) FOR NO KEY UPDATE SKIP LOCKED',
);

export const noteKeyUseQuery = defineQuery<{ hashes: string[] }>(
  'note_key_use',
  'UPDATE api_keys SET last_used_at = now() WHERE hash = ANY ($hashes::text[])',
);
