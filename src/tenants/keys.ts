import { hash, randomBytes } from 'node:crypto';
import { crc32 } from 'node:zlib';
import type { Database } from '../database/database.ts';
import type { QueryExecutor } from '../database/query.ts';
import { ServiceError } from '../errors/errors.ts';
import {
  addSecretQuery,
  createKeyOnceQuery,
  createKeyQuery,
  currentKeyQuery,
  type FoundKeyRow,
  findCreationQuery,
  findKeyQuery,
  forgetCreationQuery,
  getKeyQuery,
  type KeyFilter,
  type KeyKind,
  type KeyRow,
  keepTenantQuery,
  listKeysQuery,
  lockKeyQuery,
  lockUsedKeysQuery,
  noteKeyUseQuery,
  type PreviousSecret,
  previousSecretQuery,
  replaceSecretQuery,
  retireSecretQuery,
  revokeKeyQuery,
  updateKeyQuery,
} from './key-queries.ts';
import { tenantCreatedAtQuery } from './queries.ts';

/**
 * An API key is `msk_`, 32 random bytes as 43 characters of base64url, and the CRC-32 of both as 6 characters of
 * base62. The checksum detects typos without a lookup and lets secret scanners recognize a key. This is the format of
 * GitHub's tokens: https://github.blog/engineering/behind-githubs-new-authentication-token-formats/
 */
const KEY = /^(msk_[A-Za-z0-9_-]{43})([A-Za-z0-9]{6})$/;
const BASE62 = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';

/** Generates a key. Store only `hash` (SHA-256, hexadecimal) and `id`; show `key` once. */
export function newApiKey(): { key: string; hash: string; id: string } {
  const body = `msk_${randomBytes(32).toString('base64url')}`;
  const key = body + checksum(body);
  return { key, hash: hashOf(key), id: keyId() };
}

/** A new name for a key; no secret. */
export function keyId(): string {
  return `key_${randomBytes(6).toString('hex')}`;
}

/** Whether a text has the format and checksum of a key. */
export function isApiKey(given: string): boolean {
  const [, body, sum] = KEY.exec(given) ?? [];
  return body !== undefined && sum === checksum(body);
}

/** Returns the hash by which a key is stored and looked up. */
export function hashOf(key: string): string {
  return hash('sha256', key, 'hex');
}

function checksum(body: string): string {
  let rest = crc32(body);
  let sum = '';
  for (let i = 0; i < 6; i++) {
    sum = BASE62[rest % 62] + sum;
    rest = Math.floor(rest / 62);
  }
  return sum;
}

/** What a key is for; `tenant` is null for a service key and an admin key. */
export interface KeyPurpose {
  tenant: string | null;
  /** For the admin API, and for nothing else. Only without a tenant. */
  isAdmin?: boolean;
  /** Of a service key: it may also create, change, archive and delete stores, and redact versions. */
  managesStores?: boolean;
  access: KeyRow['access'];
  /** Of an admin key: the only tenants that it administers; by default all. */
  onlyTenants?: string[] | null;
  label: string;
  /** Where what is written with it comes from; by default not said. */
  source?: string;
  expiresAt: string | null;
}

/** A key as it is to be stored. */
interface NewKey extends KeyPurpose {
  hash: string;
  id: string;
  creationKey?: string;
  creationRequest?: string;
}

export function kindOfKey({ tenant, isAdmin }: Pick<KeyRow, 'tenant' | 'isAdmin'>): KeyKind {
  if (isAdmin) return 'admin';
  return tenant === null ? 'service' : 'tenant';
}

/** Selects every key. */
export const ALL_KEYS: KeyFilter = { tenant: null, kind: null, status: null, search: null, scope: null };

/** Where a page of keys ends. */
export interface KeyPosition {
  time: string;
  id: string;
}

/** A key that a caller asked to create once. */
export interface CreationRequest {
  /** Who asks, and under which idempotency key. */
  key: string;
  /** What for, as text. */
  request: string;
}

const PAGE = 500;

/**
 * The stored API keys. Where a method takes a `scope`, keys of other tenants, and keys of no tenant, do not exist for
 * it; null: all keys do. Throws `DatabaseError`.
 */
export class Keys {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  /** @param hash the key's SHA-256 in hexadecimal */
  async find(hash: string): Promise<FoundKeyRow | undefined> {
    for (let key = await this.#findRow(hash); ; ) {
      if (key === undefined) return undefined;
      const { tenant } = key;
      if (tenant === null) return { ...key, tenantCreatedAt: null };
      const [created] = (await this.#database.query(tenantCreatedAtQuery, { tenant })).rows;
      // A key is deleted and renamed with its tenant, so that was the tenant of the key if it still is.
      key = await this.#findRow(hash);
      if (created !== undefined && key?.tenant === tenant)
        return { ...key, tenantCreatedAt: created.createdAt };
    }
  }

  async #findRow(hash: string) {
    return (await this.#database.query(findKeyQuery, { hash })).rows[0];
  }

  /**
   * Makes a key and stores its hash: the returned `key` is kept nowhere.
   *
   * @throws ServiceError when a tenant of it does not exist.
   */
  async issue(purpose: KeyPurpose): Promise<{ key: string; id: string }> {
    const { key, hash, id } = newApiKey();
    await this.#database.transaction(async (query) => {
      await keepTenants(query, purpose);
      await query(createKeyQuery, paramsOf({ ...purpose, hash, id }));
    });
    return { key, id };
  }

  /**
   * Makes a key once, within 24 hours: a repeat of the request gives the same key a new secret, since the caller may
   * have lost the first.
   *
   * @throws ServiceError when a tenant of it does not exist, when the request was another one, or when the key is in
   *   use already.
   */
  async issueOnce(purpose: KeyPurpose, creation: CreationRequest): Promise<{ key: string; id: string }> {
    const { key, hash, id } = newApiKey();
    const creationKey = hashOf(creation.key);
    const creationRequest = hashOf(creation.request);
    return this.#database.transaction(async (query) => {
      await keepTenants(query, purpose);
      await query(forgetCreationQuery, { creationKey });
      const params = paramsOf({ ...purpose, hash, id, creationKey, creationRequest });
      if ((await query(createKeyOnceQuery, params)).count === 1) return { key, id };
      const created = (await query(findCreationQuery, { creationKey })).rows[0];
      if (created?.request !== creationRequest) throw new ServiceError('creation_key_reused');
      if (!created.isUntouched) throw new ServiceError('key_in_use', created.id);
      await query(replaceSecretQuery, { hash: created.hash, newHash: hash });
      return { key, id: created.id };
    });
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
    return this.#database.transaction(async (query) => {
      const exists = key.tenant === null || (await keep(query, key.tenant)) !== undefined;
      return exists && (await query(statement, paramsOf(key))).count === 1;
    });
  }

  /** Lists the keys that match, newest first. */
  async list(filter: KeyFilter): Promise<KeyRow[]> {
    const all: KeyRow[] = [];
    for (let after: KeyPosition | null = null; ; ) {
      const page: { keys: KeyRow[]; next: KeyPosition | null } = await this.page(filter, after, PAGE);
      all.push(...page.keys);
      if (page.next === null) return all;
      after = page.next;
    }
  }

  /** A page of the keys that match, newest first. `next` is where the next page begins. */
  async page(
    filter: KeyFilter,
    after: KeyPosition | null,
    limit: number,
  ): Promise<{ keys: KeyRow[]; next: KeyPosition | null }> {
    const { time: afterTime = null, id: afterId = null } = after ?? {};
    const params = { ...filter, afterTime, afterId, limit: limit + 1 };
    const { rows } = await this.#database.query(listKeysQuery, params);
    const last = rows[limit - 1];
    const next = rows.length > limit && last !== undefined ? { time: last.createdAt, id: last.id } : null;
    return { keys: rows.slice(0, limit), next };
  }

  /**
   * A key, and its previous secret while that still works.
   *
   * @throws ServiceError when the key does not exist.
   */
  async get(
    id: string,
    scope: string[] | null = null,
  ): Promise<KeyRow & { previous: PreviousSecret | null }> {
    const row = (await this.#database.query(getKeyQuery, { id, scope })).rows[0];
    if (row === undefined) throw new ServiceError('unknown_key', id);
    const previous = (await this.#database.query(previousSecretQuery, { id })).rows[0] ?? null;
    return { ...row, previous };
  }

  /**
   * Changes the label and the expiry of a key. Returns the key as it was.
   *
   * @throws ServiceError when the key does not exist or is revoked.
   */
  update(
    id: string,
    changes: { label?: string | undefined; expiresAt?: string | null | undefined },
    scope: string[] | null = null,
  ): Promise<KeyRow> {
    return this.#database.transaction(async (query) => {
      const before = await lock(query, id, scope);
      const { label = before.label, expiresAt = before.expiresAt } = changes;
      await query(updateKeyQuery, { id, label, expiresAt });
      return before;
    });
  }

  /**
   * Gives a key a new secret; the previous one works for `overlapSeconds` more.
   *
   * @throws ServiceError when the key does not exist, or is revoked or expired.
   */
  async rotate(
    id: string,
    overlapSeconds: number,
    scope: string[] | null = null,
  ): Promise<{ key: string; tenant: string | null }> {
    const { key, hash: newHash } = newApiKey();
    return this.#database.transaction(async (query) => {
      // Before the key is locked, as by who deletes or renames a tenant.
      await keepTenants(query, await current(query, id, scope));
      const { hash, isExpired, tenant } = await lock(query, id, scope);
      if (isExpired) throw new ServiceError('key_expired', id);
      await query(addSecretQuery, { hash, newHash });
      await query(retireSecretQuery, { hash, overlapSeconds });
      return { key, tenant };
    });
  }

  /**
   * Revokes a key, with all its secrets. Returns its tenant.
   *
   * @throws ServiceError when the key does not exist or is already revoked.
   */
  revoke(id: string, scope: string[] | null = null): Promise<string | null> {
    return this.#database.transaction(async (query) => {
      const { tenant } = await lock(query, id, scope);
      await query(revokeKeyQuery, { id });
      return tenant;
    });
  }

  async noteUse(hashes: string[]): Promise<void> {
    await this.#database.transaction(async (query) => {
      const { rows } = await query(lockUsedKeysQuery, { hashes });
      await query(noteKeyUseQuery, { hashes: rows.map(({ hash }) => hash) });
    });
  }
}

async function lock(query: QueryExecutor, id: string, scope: string[] | null) {
  // The current secret is read again after the lock: a rotation adds a row, which only a later statement sees.
  while ((await query(lockKeyQuery, { id })).rows.length === 0) await current(query, id, scope);
  return current(query, id, scope);
}

async function current(query: QueryExecutor, id: string, scope: string[] | null) {
  const row = (await query(currentKeyQuery, { id, scope })).rows[0];
  if (row === undefined) throw new ServiceError('no_such_key', id);
  return row;
}

/** Keeps the tenant of a key from being deleted until the transaction ends. Undefined when it does not exist. */
async function keep(query: QueryExecutor, tenant: string): Promise<{ draftOf: string | null } | undefined> {
  return (await query(keepTenantQuery, { tenant })).rows[0];
}

/** @throws ServiceError when a tenant that a key is for does not exist, or is a draft that the key cannot be for. */
async function keepTenants(
  query: QueryExecutor,
  { tenant, onlyTenants, access }: Pick<KeyPurpose, 'tenant' | 'onlyTenants' | 'access'>,
): Promise<void> {
  for (const each of [...(tenant === null ? [] : [tenant]), ...(onlyTenants ?? [])]) {
    const kept = await keep(query, each);
    if (kept === undefined) throw new ServiceError('no_such_tenant', each);
    if (kept.draftOf !== null && access === 'propose')
      throw new ServiceError('propose_for_draft', each, kept.draftOf);
  }
}

function paramsOf(key: NewKey) {
  return {
    isAdmin: false,
    managesStores: false,
    onlyTenants: null,
    source: '',
    creationKey: null,
    creationRequest: null,
    ...key,
  };
}
