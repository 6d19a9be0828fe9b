import { ServiceError } from '../errors.ts';
import type { Database } from '../postgres/database.ts';
import { newApiKey } from './api-key.ts';
import {
  createKeyOnceQuery,
  createKeyQuery,
  type FoundKeyRow,
  findKeyQuery,
  type KeyRow,
  keepTenantQuery,
  listKeysQuery,
  noteKeyUseQuery,
  revokeKeyQuery,
} from './api-key-queries.ts';

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
