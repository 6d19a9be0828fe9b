import { defineQuery, time } from '../database/query.ts';

export type KeyKind = 'tenant' | 'service' | 'admin';

/** An API key as stored; never the key itself. `tenant` is null for a service key and an admin key. */
export interface KeyRow {
  id: string;
  tenant: string | null;
  isAdmin: boolean;
  /** Whether a service key may also manage stores, and erase history with that. */
  managesStores: boolean;
  /** `operate` is for admin keys, `propose` for those of tenants. */
  access: 'read_write' | 'propose' | 'operate' | 'read_only';
  /** The only tenants that an admin key administers; null: all. */
  onlyTenants: string[] | null;
  label: string;
  /** Where what is written with it comes from; empty: not said. */
  source: string;
  /** Times in ISO 8601. */
  createdAt: string;
  expiresAt: string | null;
  revokedAt: string | null;
  lastUsedAt: string | null;
}

const COLUMNS = `id, tenant_id AS tenant, is_admin AS "isAdmin", manages_stores AS "managesStores", access, only_tenants AS "onlyTenants", label, source,
  ${time('created_at')} AS "createdAt", ${time('expires_at')} AS "expiresAt", ${time('revoked_at')} AS "revokedAt",
  ${time('last_used_at')} AS "lastUsedAt"`;

/**
 * A key with its times relative to now, in milliseconds by the database's clock: a replica with a wrong clock would
 * accept expired keys.
 */
export interface FoundKeyRow
  extends Pick<
    KeyRow,
    'id' | 'label' | 'source' | 'tenant' | 'isAdmin' | 'managesStores' | 'access' | 'onlyTenants'
  > {
  isRevoked: boolean;
  /** When the tenant of the key was created; null for a key without a tenant. */
  tenantCreatedAt: string | null;
  /** Null for a key that does not expire. */
  expiresInMs: number | null;
  /** Null for a key that was never used. */
  usedMsAgo: number | null;
}

const milliseconds = (interval: string) => `(EXTRACT(EPOCH FROM ${interval}) * 1000)::double precision`;

export const findKeyQuery = defineQuery<{ hash: string }, Omit<FoundKeyRow, 'tenantCreatedAt'>>(
  'find_key',
  `
SELECT id, label, source, tenant_id AS tenant, is_admin AS "isAdmin", manages_stores AS "managesStores", access, only_tenants AS "onlyTenants", revoked_at IS NOT NULL AS "isRevoked",
  ${milliseconds('expires_at - now()')} AS "expiresInMs", ${milliseconds('now() - last_used_at')} AS "usedMsAgo"
FROM api_keys WHERE hash = $hash
`,
);

export type NewKeyParams = {
  hash: string;
  id: string;
  tenant: string | null;
  isAdmin: boolean;
  managesStores: boolean;
  access: string;
  onlyTenants: string[] | null;
  label: string;
  source: string;
  expiresAt: string | null;
  creationKey: string | null;
  creationRequest: string | null;
};
const CREATE_KEY = `
INSERT INTO api_keys (hash, id, tenant_id, is_admin, access, label, expires_at, manages_stores, only_tenants, creation_key, creation_request, source)
VALUES ($hash, $id, $tenant, $isAdmin::boolean, $access, $label, $expiresAt::timestamptz, $managesStores::boolean, $onlyTenants::text[], $creationKey, $creationRequest, $source)
`;

/** Keeps a tenant from being deleted until its new key is stored. No row when it does not exist. */
export const keepTenantQuery = defineQuery<{ tenant: string }, { draftOf: string | null }>(
  'keep_tenant',
  'SELECT draft_of AS "draftOf" FROM tenants WHERE id = $tenant FOR KEY SHARE',
);

export const createKeyQuery = defineQuery<NewKeyParams>('create_key', CREATE_KEY);

/** `count` is 0, and nothing changes, when the key is stored already, or was created under the same idempotency key. */
export const createKeyOnceQuery = defineQuery<NewKeyParams>(
  'create_key_once',
  `${CREATE_KEY}ON CONFLICT DO NOTHING`,
);

/** Forgets an idempotency key after 24 hours. */
export const forgetCreationQuery = defineQuery<{ creationKey: string }>(
  'forget_creation',
  `
UPDATE api_keys SET creation_key = NULL, creation_request = NULL
WHERE creation_key = $creationKey AND created_at < now() - interval '24 hours'
`,
);

/** Locks the key that was created under an idempotency key. `isUntouched`: nothing has happened to it since. */
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

/** Replaces a secret that nobody has used. */
export const replaceSecretQuery = defineQuery<{ hash: string; newHash: string }>(
  'replace_secret',
  'UPDATE api_keys SET hash = $newHash WHERE hash = $hash',
);

/** Which keys are listed or changed; null: any. A key that was rotated is its latest secret. */
export interface KeyFilter {
  tenant: string | null;
  kind: KeyKind | null;
  status: 'active' | 'expired' | 'revoked' | null;
  /** Part of the id or the label, in upper or lower case. */
  search: string | null;
  /** The only tenants whose keys are seen; null: all keys. */
  scope: string[] | null;
}

const IN_SCOPE = (scope: string) => `(${scope}::text[] IS NULL OR tenant_id = ANY (${scope}::text[]))`;

/** A page of the keys, newest first: those after `afterTime` and, of one time, `afterId`. */
export const listKeysQuery = defineQuery<
  { [name in keyof KeyFilter]: KeyFilter[name] } & {
    afterTime: string | null;
    afterId: string | null;
    limit: number;
  },
  KeyRow
>(
  'list_keys',
  `
SELECT ${COLUMNS} FROM api_keys
WHERE rotated_at IS NULL AND ($tenant::text IS NULL OR tenant_id = $tenant)
  AND ($afterTime::text IS NULL OR created_at < $afterTime::text::timestamptz OR (created_at = $afterTime::text::timestamptz AND id > $afterId))
  AND ($kind::text IS NULL OR $kind = CASE WHEN is_admin THEN 'admin' WHEN tenant_id IS NULL THEN 'service' ELSE 'tenant' END)
  AND ($status::text IS NULL OR $status = CASE WHEN revoked_at IS NOT NULL THEN 'revoked' WHEN expires_at <= now() THEN 'expired' ELSE 'active' END)
  AND ($search::text IS NULL OR strpos(lower(id), lower($search)) > 0 OR strpos(lower(label), lower($search)) > 0)
  AND ${IN_SCOPE('$scope')}
ORDER BY api_keys.created_at DESC, id LIMIT $limit::bigint
`,
);

/** An earlier secret of a rotated key, which still works. */
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
WHERE id = $id AND rotated_at IS NOT NULL AND revoked_at IS NULL AND expires_at > now()
ORDER BY rotated_at DESC LIMIT 1
`,
);

/**
 * Locks the current secret of a key, and thereby the key. Returns none after waiting for a rotation, because another
 * secret is the current one now.
 */
export const lockKeyQuery = defineQuery<{ id: string }>(
  'lock_key',
  'SELECT id FROM api_keys WHERE id = $id AND rotated_at IS NULL FOR UPDATE',
);

/**
 * Locks the keys of a tenant by their current secrets, before the other secrets of any of them, as `lock_key` does.
 * So whoever changes one key and whoever changes all of them do not wait for each other.
 */
export const lockTenantKeysQuery = defineQuery<{ tenant: string }>(
  'lock_tenant_keys',
  'SELECT id FROM api_keys WHERE tenant_id = $tenant AND rotated_at IS NULL ORDER BY id FOR UPDATE',
);

/** Locks the admin keys that have a tenant in their scope, in the same way. */
export const lockScopedKeysQuery = defineQuery<{ tenant: string }>(
  'lock_scoped_keys',
  `
SELECT id FROM api_keys WHERE only_tenants IS NOT NULL AND $tenant::text = ANY (only_tenants) AND rotated_at IS NULL
ORDER BY id FOR UPDATE
`,
);

/** A key that is not revoked. */
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

/** Changes a key; an earlier secret of it does not outlive it. */
export const updateKeyQuery = defineQuery<{ id: string; label: string; expiresAt: string | null }>(
  'update_key',
  `
UPDATE api_keys SET label = $label,
  expires_at = CASE WHEN rotated_at IS NULL THEN $expiresAt::timestamptz ELSE least(expires_at, $expiresAt::timestamptz) END
WHERE id = $id
`,
);

/** Adds a new secret to a key: a row with another hash. */
export const addSecretQuery = defineQuery<{ hash: string; newHash: string }>(
  'add_secret',
  `
INSERT INTO api_keys (hash, id, tenant_id, access, is_admin, manages_stores, only_tenants, label, source, created_at, expires_at)
SELECT $newHash, id, tenant_id, access, is_admin, manages_stores, only_tenants, label, source, created_at, expires_at FROM api_keys WHERE hash = $hash
`,
);

export const retireSecretQuery = defineQuery<{ hash: string; overlapSeconds: number }>(
  'retire_secret',
  `
UPDATE api_keys SET rotated_at = now(), expires_at = least(expires_at, now() + $overlapSeconds::integer * interval '1 second') WHERE hash = $hash
`,
);

/** Revokes all secrets of a key. */
export const revokeKeyQuery = defineQuery<{ id: string }>(
  'revoke_key',
  'UPDATE api_keys SET revoked_at = now() WHERE id = $id AND revoked_at IS NULL',
);

/** Locks keys of which a use is noted, without those that another session has locked: a use is only a hint. */
export const lockUsedKeysQuery = defineQuery<{ hashes: string[] }, { hash: string }>(
  'lock_used_keys',
  'SELECT hash FROM api_keys WHERE hash = ANY ($hashes::text[]) FOR NO KEY UPDATE SKIP LOCKED',
);

export const noteKeyUseQuery = defineQuery<{ hashes: string[] }>(
  'note_key_use',
  'UPDATE api_keys SET last_used_at = now() WHERE hash = ANY ($hashes::text[])',
);
