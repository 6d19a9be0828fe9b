import type { Database } from '../postgres/database.ts';
import {
  createKeyOnceQuery,
  createKeyQuery,
  findKeyQuery,
  type KeyRow,
  listKeysQuery,
  noteKeyUseQuery,
  revokeKeyQuery,
} from './queries.ts';

/** A key as it is to be stored; `tenant` is null for a service key. */
interface NewKey {
  hash: string;
  id: string;
  tenant: string | null;
  access: KeyRow['access'];
  label: string;
  expiresAt: string | null;
}

/** The stored API keys. Throws `DatabaseError`. */
export class Keys {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  /** @param hash the key's SHA-256 in hexadecimal */
  async find(hash: string): Promise<KeyRow | undefined> {
    return (await this.#database.query(findKeyQuery, { hash })).rows[0];
  }

  /** Stores a new key. Returns false when its tenant does not exist. */
  async create(key: NewKey): Promise<boolean> {
    return (await this.#database.query(createKeyQuery, key)).count === 1;
  }

  /** Stores a key unless it is stored already. Returns false when it is, or its tenant does not exist. */
  async createOnce(key: NewKey): Promise<boolean> {
    return (await this.#database.query(createKeyOnceQuery, key)).count === 1;
  }

  /** Lists the keys of a tenant, or with null all keys, newest first. */
  async list(tenant: string | null): Promise<KeyRow[]> {
    return (await this.#database.query(listKeysQuery, { tenant })).rows;
  }

  /** Returns false when the key does not exist or is already revoked. */
  async revoke(id: string): Promise<boolean> {
    return (await this.#database.query(revokeKeyQuery, { id, now: new Date().toISOString() })).count === 1;
  }

  async noteUse(hashes: string[]): Promise<void> {
    await this.#database.query(noteKeyUseQuery, { hashes, now: new Date().toISOString() });
  }
}
