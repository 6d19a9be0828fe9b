import type { Database } from '../postgres/database.ts';
import { withFaultsMapped } from '../postgres/errors.ts';
import type { Outcome, Statement, Value } from '../postgres/query.ts';
import {
  createKeyStatement,
  findKeyStatement,
  type KeyRow,
  listKeysStatement,
  noteKeyUseStatement,
  revokeKeyStatement,
} from './queries.ts';

/** The stored API keys. Faults come out as `ServiceError`. */
export class Keys {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  /** @param hash the key's SHA-256 in hexadecimal */
  async find(hash: string): Promise<KeyRow | undefined> {
    return (await this.#run(findKeyStatement, { hash })).rows[0];
  }

  /** Stores a key; false when it is for a tenant that there is not. */
  async create(key: {
    hash: string;
    id: string;
    tenant: string | null;
    access: KeyRow['access'];
    label: string;
    expiresAt: string | null;
  }): Promise<boolean> {
    return (await this.#run(createKeyStatement, key)).count === 1;
  }

  /** The keys of a tenant, or with null all keys, the newest first. */
  async list(tenant: string | null): Promise<KeyRow[]> {
    return (await this.#run(listKeysStatement, { tenant })).rows;
  }

  /** False when there is no such key, or it is revoked already. */
  async revoke(id: string): Promise<boolean> {
    return (await this.#run(revokeKeyStatement, { id, now: new Date().toISOString() })).count === 1;
  }

  async noteUse(hashes: string[]): Promise<void> {
    await this.#run(noteKeyUseStatement, { hashes, now: new Date().toISOString() });
  }

  async #run<Params extends Record<string, Value>, Row>(
    statement: Statement<Params, Row>,
    params: Params,
  ): Promise<Outcome<Row>> {
    return withFaultsMapped(() => this.#database.run(statement, params));
  }
}
