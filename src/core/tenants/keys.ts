import { hash, randomBytes } from 'node:crypto';
import { crc32 } from 'node:zlib';
import { currentInstant } from '../database/clock.ts';
import type { Database } from '../database/database.ts';
import type { QueryExecutor } from '../database/query.ts';
import { ServiceError } from '../errors/errors.ts';
import { cutPage, type Page } from '../lib/pages.ts';
import { type Actor, ANONYMOUS } from '../memory/origin.ts';
import type { Rights } from '../memory/rights.ts';
import { recordEvent } from './events.ts';
import {
  addSecretQuery,
  createKeyOnceQuery,
  createKeyQuery,
  currentKeyQuery,
  endPreviousSecretsQuery,
  type FoundKeyRow,
  findCreationQuery,
  findKeyQuery,
  forgetCreationQuery,
  getKeyQuery,
  type KeyFields,
  type KeyFilter,
  type KeyKind,
  type KeyOrder,
  type KeyRow,
  keepTenantQuery,
  listKeysQuery,
  lockKeyQuery,
  lockSecretsQuery,
  lockUsedKeysQuery,
  noteKeyUseQuery,
  type PreviousSecret,
  previousSecretQuery,
  replaceSecretQuery,
  retireSecretsQuery,
  revokeKeyQuery,
  updateKeyQuery,
} from './key-queries.ts';
import { tenantCreatedAtQuery } from './queries.ts';

/**
 * The API key format: `msk_`, 32 random bytes as 43 base64url characters, and the CRC-32 over both as 6 base62
 * characters. The checksum detects typos without a lookup, and lets secret scanners recognize keys. GitHub's tokens
 * have the same format: https://github.blog/engineering/behind-githubs-new-authentication-token-formats/
 */
const KEY = /^(msk_[A-Za-z0-9_-]{43})([A-Za-z0-9]{6})$/;
const BASE62 = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';

/** Generates a key. Store only `hash` (SHA-256, hexadecimal) and `id`. Show `key` once. */
export function newApiKey(): { key: string; hash: string; id: string } {
  const body = `msk_${randomBytes(32).toString('base64url')}`;
  const key = body + checksum(body);
  return { key, hash: hashKey(key), id: keyId() };
}

/** Generates an ID for a key. The ID is not confidential. */
export function keyId(): string {
  return `key_${randomBytes(6).toString('hex')}`;
}

/** Whether a text has a key's format and checksum. */
export function isApiKey(given: string): boolean {
  const [, body, sum] = KEY.exec(given) ?? [];
  return body !== undefined && sum === checksum(body);
}

/** Returns the hash under which a key is stored. */
export function hashKey(key: string): string {
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

/** Key fields that a caller may leave out. */
const DEFAULTS = {
  isAdmin: false,
  managesStores: false,
  canShare: false,
  onlyTenants: null,
  rights: null,
  source: '',
};

/**
 * Properties for a new key. Only an admin key has `onlyTenants`, only a service key `managesStores`, and only a tenant
 * key `canShare`. None of these three has `rights`.
 */
export type KeyPurpose = Omit<KeyFields, keyof typeof DEFAULTS> & Partial<KeyFields>;

type NewKey = KeyPurpose & {
  hash: string;
  id: string;
  creationKey?: string;
  creationRequest?: string;
};

export function keyKind({ tenant, isAdmin }: Pick<KeyRow, 'tenant' | 'isAdmin'>): KeyKind {
  if (isAdmin) return 'admin';
  return tenant === null ? 'service' : 'tenant';
}

export const ALL_KEYS: KeyFilter = {
  tenant: null,
  tenantContains: null,
  kind: null,
  status: null,
  search: null,
  scope: null,
  unusedDays: null,
  expiresInDays: null,
};

/** Last key on a page. */
export interface KeyPosition {
  order: KeyOrder;
  /** Number that gives the key its position in the order. */
  key: number;
  id: string;
}

/** A request for a key with an idempotency key. */
export interface CreationRequest {
  /** Caller and idempotency key, as one text. */
  key: string;
  /** Serialized properties for the requested key. */
  request: string;
}

const PAGE = 500;

/**
 * The stored API keys. For methods with a `scope`, keys outside the tenants in the scope do not exist; null means all
 * keys. Methods throw `DatabaseError`.
 */
export class Keys {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  /** @param hash SHA-256 of the key, hexadecimal */
  async find(hash: string): Promise<FoundKeyRow | undefined> {
    for (let key = await this.#findRow(hash); ; ) {
      if (key === undefined) return undefined;
      const { tenant } = key;
      if (tenant === null) return { ...key, tenantCreatedAt: null };
      const [created] = (await this.#database.query(tenantCreatedAtQuery, { tenant })).rows;
      // Keys are deleted and renamed together with their tenant. If the key still has the same tenant, the creation
      // time belongs to this tenant.
      key = await this.#findRow(hash);
      if (created !== undefined && key?.tenant === tenant)
        return { ...key, tenantCreatedAt: created.createdAt };
    }
  }

  async #findRow(hash: string) {
    return (await this.#database.query(findKeyQuery, { hash })).rows[0];
  }

  /**
   * Creates a key and stores its hash. The returned `key` is not stored.
   *
   * @throws ServiceError if one of the key's tenants does not exist
   */
  async issue(purpose: KeyPurpose, by: Actor = ANONYMOUS): Promise<{ key: string; id: string }> {
    const { key, hash, id } = newApiKey();
    await this.#database.transaction(async (query) => {
      await keepTenants(query, purpose);
      await query(createKeyQuery, keyParams({ ...purpose, hash, id }));
      await recordKeyEvent(query, 'key_created', keyParams({ ...purpose, hash, id }), by);
    });
    return { key, id };
  }

  /**
   * Creates a key once within 24 hours. A repeated request replaces the same key's secret, because the caller may have
   * lost the first secret.
   *
   * @throws ServiceError if one of the key's tenants does not exist, the repeated request differs, or the key is
   * already in use
   */
  async issueOnce(
    purpose: KeyPurpose,
    creation: CreationRequest,
    by: Actor = ANONYMOUS,
  ): Promise<{ key: string; id: string }> {
    const { key, hash, id } = newApiKey();
    const creationKey = hashKey(creation.key);
    const creationRequest = hashKey(creation.request);
    return this.#database.transaction(async (query) => {
      await keepTenants(query, purpose);
      await query(forgetCreationQuery, { creationKey });
      const params = keyParams({ ...purpose, hash, id, creationKey, creationRequest });
      if ((await query(createKeyOnceQuery, params)).count === 1) {
        await recordKeyEvent(query, 'key_created', params, by);
        return { key, id };
      }
      const created = (await query(findCreationQuery, { creationKey })).rows[0];
      if (created?.request !== creationRequest) throw new ServiceError('creation_key_reused');
      if (!created.isUntouched) throw new ServiceError('key_in_use', created.id);
      await query(replaceSecretQuery, { hash: created.hash, newHash: hash });
      return { key, id: created.id };
    });
  }

  /** Stores a new key. Returns false if its tenant does not exist. */
  create(key: NewKey, by: Actor = ANONYMOUS): Promise<boolean> {
    return this.#store(createKeyQuery, key, by);
  }

  /** Stores a key. Returns false if the key is already stored, or its tenant does not exist. */
  createOnce(key: NewKey, by: Actor = ANONYMOUS): Promise<boolean> {
    return this.#store(createKeyOnceQuery, key, by);
  }

  #store(statement: typeof createKeyQuery, key: NewKey, by: Actor): Promise<boolean> {
    return this.#database.transaction(async (query) => {
      const exists = key.tenant === null || (await keepTenant(query, key.tenant)) !== undefined;
      if (!exists || (await query(statement, keyParams(key))).count === 0) return false;
      await recordKeyEvent(query, 'key_created', keyParams(key), by);
      return true;
    });
  }

  /** Lists matching keys, newest first. */
  async list(filter: KeyFilter): Promise<KeyRow[]> {
    const all: KeyRow[] = [];
    for (let after: KeyPosition | null = null; ; ) {
      const page: Page<KeyRow, KeyPosition> = await this.page(filter, after, PAGE);
      all.push(...page.rows);
      if (page.next === null) return all;
      after = page.next;
    }
  }

  /** Reads a page of matching keys in an order. */
  async page(
    filter: KeyFilter,
    after: KeyPosition | null,
    limit: number,
    order: KeyOrder = 'created',
  ): Promise<Page<KeyRow, KeyPosition>> {
    const { key: afterKey = null, id: afterId = null } = after ?? {};
    const params = { ...filter, order, afterKey, afterId, limit: limit + 1 };
    const { rows } = await this.#database.query(listKeysQuery, params);
    return cutPage(rows, limit, ({ key, id }) => ({ order, key, id }));
  }

  /**
   * Reads a key, with its previous secret while the previous secret is valid.
   *
   * @throws ServiceError if the key does not exist
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
   * Changes a key's label, expiry, and rights. Returns the key from before the change.
   *
   * @throws ServiceError if the key does not exist, is revoked, or cannot have the rights
   */
  update(
    id: string,
    changes: {
      label?: string | undefined;
      expiresAt?: string | null | undefined;
      rights?: Rights | undefined;
    },
    scope: string[] | null = null,
  ): Promise<KeyRow> {
    return this.#database.transaction(async (query) => {
      const before = await lock(query, id, scope);
      const { label = before.label, expiresAt = before.expiresAt, rights = before.rights } = changes;
      const problem = rightsProblem({ ...before, rights });
      if (problem !== undefined) throw new ServiceError('invalid_parameter', `The field rights ${problem}`);
      await query(updateKeyQuery, { id, label, expiresAt, rights: storedRights(rights) });
      return before;
    });
  }

  /**
   * Creates a new secret for a key. The previous secret remains valid for `overlapSeconds`, and all secrets before it
   * end, so a key has at most one previous secret.
   *
   * @throws ServiceError if the key does not exist, is revoked, or is expired
   */
  async rotate(
    id: string,
    overlapSeconds: number,
    scope: string[] | null = null,
  ): Promise<{ key: string; tenant: string | null }> {
    const { key, hash: newHash } = newApiKey();
    return this.#database.transaction(async (query) => {
      // Locks tenants before the key, in the same order as deleting and renaming a tenant.
      await keepTenants(query, await requireCurrentKey(query, id, scope));
      const { hash, isExpired, tenant } = await lock(query, id, scope);
      if (isExpired) throw new ServiceError('key_expired', id);
      await query(addSecretQuery, { hash, newHash });
      // The secrets are locked in the order of their rotations, which may have started in another order.
      const now = await currentInstant(query);
      const until = new Date(Date.parse(now) + overlapSeconds * 1000).toISOString();
      await query(retireSecretsQuery, { id, hash, now, until: overlapSeconds === 0 ? now : until });
      return { key, tenant };
    });
  }

  /**
   * Ends the secrets that earlier rotations replaced, before their overlap ends. Returns the key's tenant.
   *
   * @throws ServiceError if the key does not exist or is revoked
   */
  endPrevious(id: string, scope: string[] | null = null): Promise<string | null> {
    return this.#database.transaction(async (query) => {
      const { tenant } = await lock(query, id, scope);
      await query(endPreviousSecretsQuery, { id });
      return tenant;
    });
  }

  /**
   * Revokes all secrets for a key. Returns the key's tenant.
   *
   * @throws ServiceError if the key does not exist or is already revoked
   */
  revoke(id: string, scope: string[] | null = null, by: Actor = ANONYMOUS): Promise<string | null> {
    return this.#database.transaction(async (query) => {
      const key = await lock(query, id, scope);
      await query(revokeKeyQuery, { id });
      await recordKeyEvent(query, 'key_revoked', key, by);
      return key.tenant;
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
  await query(lockSecretsQuery, { id });
  // Reads the current secret again after the lock, because a rotation adds a row that only a later statement sees.
  while ((await query(lockKeyQuery, { id })).rows.length === 0) await requireCurrentKey(query, id, scope);
  return requireCurrentKey(query, id, scope);
}

async function requireCurrentKey(query: QueryExecutor, id: string, scope: string[] | null) {
  const row = (await query(currentKeyQuery, { id, scope })).rows[0];
  if (row === undefined) throw new ServiceError('no_such_key', id);
  return row;
}

/** Locks a tenant against deletion until the transaction ends. Returns undefined if the tenant does not exist. */
async function keepTenant(
  query: QueryExecutor,
  tenant: string,
): Promise<{ draftOf: string | null } | undefined> {
  return (await query(keepTenantQuery, { tenant })).rows[0];
}

/** @throws ServiceError if one of the key's tenants does not exist, or is a draft and the key is propose-only */
async function keepTenants(
  query: QueryExecutor,
  { tenant, onlyTenants, access }: Pick<KeyPurpose, 'tenant' | 'onlyTenants' | 'access'>,
): Promise<void> {
  for (const each of [...(tenant === null ? [] : [tenant]), ...(onlyTenants ?? [])]) {
    const kept = await keepTenant(query, each);
    if (kept === undefined) throw new ServiceError('no_such_tenant', each);
    if (kept.draftOf !== null && access === 'propose')
      throw new ServiceError('propose_for_draft', each, kept.draftOf);
  }
}

function recordKeyEvent(
  query: QueryExecutor,
  type: 'key_created' | 'key_revoked',
  key: Pick<KeyRow, 'id' | 'tenant' | 'isAdmin' | 'access'>,
  by: Actor,
): Promise<void> {
  const { id, tenant, access } = key;
  return recordEvent(query, tenant, { type, key: { id, kind: keyKind(key), access } }, by);
}

function keyParams(key: NewKey) {
  const { rights = null, ...rest } = key;
  const own = { ...DEFAULTS, creationKey: null, creationRequest: null, ...rest };
  return { ...own, rights: storedRights(rights) };
}

/** Returns the stored form: JSON, or null for a key without rights. */
function storedRights(rights: Rights | null): string | null {
  return rights === null || rights.length === 0 ? null : JSON.stringify(rights);
}

/** Returns the reason why a key cannot have its rights; undefined if it can. */
export function rightsProblem({
  rights,
  ...key
}: Pick<KeyRow, 'isAdmin' | 'managesStores' | 'canShare' | 'rights'>): string | undefined {
  if (rights === null || rights.length === 0) return undefined;
  if (key.isAdmin || key.managesStores || key.canShare)
    return 'must be empty for admin keys, and for keys that manage stores or share.';
  return undefined;
}
