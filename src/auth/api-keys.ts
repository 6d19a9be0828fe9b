import { ServiceError } from '../errors.ts';
import type { Database } from '../postgres/database.ts';
import { defineQuery } from '../postgres/query.ts';
import { time } from '../postgres/time-column.ts';
import { newApiKey } from './api-key.ts';

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

const findKeyQuery = defineQuery<{ hash: string }, FoundKeyRow>(
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
const keepTenantQuery = defineQuery<{ tenant: string }, { id: string }>(
  'keep_tenant',
  ['tenant'],
  'SELECT id FROM tenants WHERE id = $1 FOR KEY SHARE',
);

const createKeyQuery = defineQuery<NewKeyParams>('create_key', NEW_KEY, CREATE_KEY);

/** `count` is 0, and nothing changes, when the key is stored already. */
const createKeyOnceQuery = defineQuery<NewKeyParams>(
  'create_key_once',
  NEW_KEY,
  `${CREATE_KEY}ON CONFLICT (hash) DO NOTHING`,
);

/** A page of the keys of a tenant, or with null of all keys, newest first: those after `afterTime` and, of one time, `afterId`. */
const listKeysQuery = defineQuery<
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
const revokeKeyQuery = defineQuery<{ id: string }>(
  'revoke_key',
  ['id'],
  'UPDATE api_keys SET revoked_at = now() WHERE id = $1 AND revoked_at IS NULL',
);

const noteKeyUseQuery = defineQuery<{ hashes: string[] }>(
  'note_key_use',
  ['hashes'],
  'UPDATE api_keys SET last_used_at = now() WHERE hash = ANY ($1::text[])',
);

/** What a key is for; `tenant` is null for a service key and an admin key. */
export interface KeyPurpose {
  tenant: string | null;
  /** For the admin API, and for nothing else. Only without a tenant. */
  isAdmin?: boolean;
  /** Of a service key: it may also create, change, archive and delete stores, and redact versions. */
  managesStores?: boolean;
  access: KeyRow['access'];
  label: string;
  expiresAt: string | null;
}

/** A key as it is to be stored. */
interface NewKey extends KeyPurpose {
  hash: string;
  id: string;
}

export type KeyKind = 'tenant' | 'service' | 'admin';

export function kindOfKey({ tenant, isAdmin }: Pick<KeyRow, 'tenant' | 'isAdmin'>): KeyKind {
  if (isAdmin) return 'admin';
  return tenant === null ? 'service' : 'tenant';
}

/** Where a page of keys ends. */
export interface KeyPosition {
  time: string;
  id: string;
}

const PAGE = 500;

/** The stored API keys. Throws `DatabaseError`. */
export class Keys {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  /** @param hash the key's SHA-256 in hexadecimal */
  async find(hash: string): Promise<FoundKeyRow | undefined> {
    return (await this.#database.query(findKeyQuery, { hash })).rows[0];
  }

  /**
   * Makes a key and stores its hash: the returned `key` is kept nowhere.
   *
   * @throws ServiceError when its tenant does not exist.
   */
  async issue(purpose: KeyPurpose): Promise<{ key: string; id: string }> {
    const { key, hash, id } = newApiKey();
    if (await this.create({ ...purpose, hash, id })) return { key, id };
    throw new ServiceError('no_such_tenant', String(purpose.tenant));
  }

  /** Stores a new key. Returns false when its tenant does not exist. */
  create(key: NewKey): Promise<boolean> {
    return this.#store(createKeyQuery, key);
  }

  /** Stores a key unless it is stored already. Returns false when it is, or its tenant does not exist. */
  createOnce(key: NewKey): Promise<boolean> {
    return this.#store(createKeyOnceQuery, key);
  }

  #store(statement: typeof createKeyQuery, key: NewKey): Promise<boolean> {
    const { tenant } = key;
    return this.#database.transaction(async (query) => {
      const exists = tenant === null || (await query(keepTenantQuery, { tenant })).rows.length === 1;
      return exists && (await query(statement, { isAdmin: false, managesStores: false, ...key })).count === 1;
    });
  }

  /** Lists the keys of a tenant, or with null all keys, newest first. */
  async list(tenant: string | null): Promise<KeyRow[]> {
    const all: KeyRow[] = [];
    for (let after: KeyPosition | null = null; ; ) {
      const page: { keys: KeyRow[]; next: KeyPosition | null } = await this.page(tenant, after, PAGE);
      all.push(...page.keys);
      if (page.next === null) return all;
      after = page.next;
    }
  }

  /** A page of the keys of a tenant, or with null of all keys, newest first. `next` is where the next page begins. */
  async page(
    tenant: string | null,
    after: KeyPosition | null,
    limit: number,
  ): Promise<{ keys: KeyRow[]; next: KeyPosition | null }> {
    const { time: afterTime = null, id: afterId = null } = after ?? {};
    const params = { tenant, afterTime, afterId, limit: limit + 1 };
    const { rows } = await this.#database.query(listKeysQuery, params);
    const last = rows[limit - 1];
    const next = rows.length > limit && last !== undefined ? { time: last.position, id: last.id } : null;
    return { keys: rows.slice(0, limit).map(({ position: _, ...row }) => row), next };
  }

  /** @throws ServiceError when the key does not exist or is already revoked. */
  async revoke(id: string): Promise<void> {
    if ((await this.#database.query(revokeKeyQuery, { id })).count === 1) return;
    throw new ServiceError('no_such_key', id);
  }

  async noteUse(hashes: string[]): Promise<void> {
    await this.#database.query(noteKeyUseQuery, { hashes });
  }
}
