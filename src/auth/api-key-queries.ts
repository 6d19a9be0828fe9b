import { defineQuery } from '../postgres/query.ts';
import { time } from '../postgres/time-column.ts';

/** An API key as stored; never the key itself. `tenant` is null for a service key and an admin key. */
export interface KeyRow {
  id: string;
  tenant: string | null;
  isAdmin: boolean;
  /** Whether a service key may also manage stores, and erase history with that. */
  managesStores: boolean;
  access: 'read_write' | 'read_only';
  label: string;
  createdAt: Date | string;
  expiresAt: Date | string | null;
  revokedAt: Date | string | null;
  lastUsedAt: Date | string | null;
}

const COLUMNS = `id, tenant_id AS tenant, is_admin AS "isAdmin", manages_stores AS "managesStores", access, label, created_at AS "createdAt", expires_at AS "expiresAt",
  revoked_at AS "revokedAt", last_used_at AS "lastUsedAt"`;

/** A key with its times relative to now, in milliseconds by the database's clock: a replica with a wrong clock would accept expired keys. */
export interface FoundKeyRow
  extends Pick<KeyRow, 'id' | 'label' | 'tenant' | 'isAdmin' | 'managesStores' | 'access'> {
  isRevoked: boolean;
  /** Null for a key that does not expire. */
  expiresInMs: number | null;
  /** Null for a key that was never used. */
  usedMsAgo: number | null;
}

const milliseconds = (interval: string) => `(EXTRACT(EPOCH FROM ${interval}) * 1000)::double precision`;

export const findKeyQuery = defineQuery<{ hash: string }, FoundKeyRow>(
  'find_key',
  ['hash'],
  `
SELECT id, label, tenant_id AS tenant, is_admin AS "isAdmin", manages_stores AS "managesStores", access, revoked_at IS NOT NULL AS "isRevoked",
  ${milliseconds('expires_at - now()')} AS "expiresInMs", ${milliseconds('now() - last_used_at')} AS "usedMsAgo"
FROM api_keys WHERE hash = $1
`,
);

type NewKeyParams = {
  hash: string;
  id: string;
  tenant: string | null;
  isAdmin: boolean;
  managesStores: boolean;
  access: string;
  label: string;
  expiresAt: string | null;
};
const NEW_KEY: (keyof NewKeyParams & string)[] = [
  ...(['hash', 'id', 'tenant', 'isAdmin', 'access', 'label', 'expiresAt', 'managesStores'] as const),
];
const CREATE_KEY = `
INSERT INTO api_keys (hash, id, tenant_id, is_admin, access, label, expires_at, manages_stores)
VALUES ($1, $2, $3, $4::boolean, $5, $6, $7::timestamptz, $8::boolean)
`;

/** Keeps a tenant from being deleted until its new key is stored. No row when it does not exist. */
export const keepTenantQuery = defineQuery<{ tenant: string }, { id: string }>(
  'keep_tenant',
  ['tenant'],
  'SELECT id FROM tenants WHERE id = $1 FOR KEY SHARE',
);

export const createKeyQuery = defineQuery<NewKeyParams>('create_key', NEW_KEY, CREATE_KEY);

/** `count` is 0, and nothing changes, when the key is stored already. */
export const createKeyOnceQuery = defineQuery<NewKeyParams>(
  'create_key_once',
  NEW_KEY,
  `${CREATE_KEY}ON CONFLICT (hash) DO NOTHING`,
);

/** A page of the keys of a tenant, or with null of all keys, newest first: those after `afterTime` and, of one time, `afterId`. */
export const listKeysQuery = defineQuery<
  { tenant: string | null; afterTime: string | null; afterId: string | null; limit: number },
  KeyRow & { position: string }
>(
  'list_keys',
  ['tenant', 'afterTime', 'afterId', 'limit'],
  `
SELECT ${COLUMNS}, ${time('created_at')} AS position FROM api_keys
WHERE ($1::text IS NULL OR tenant_id = $1)
  AND ($2::text IS NULL OR created_at < $2::text::timestamptz OR (created_at = $2::text::timestamptz AND id > $3))
ORDER BY created_at DESC, id LIMIT $4::bigint
`,
);

/** `count` is 0 when the key does not exist or is already revoked. */
export const revokeKeyQuery = defineQuery<{ id: string }>(
  'revoke_key',
  ['id'],
  'UPDATE api_keys SET revoked_at = now() WHERE id = $1 AND revoked_at IS NULL',
);

export const noteKeyUseQuery = defineQuery<{ hashes: string[] }>(
  'note_key_use',
  ['hashes'],
  'UPDATE api_keys SET last_used_at = now() WHERE hash = ANY ($1::text[])',
);
