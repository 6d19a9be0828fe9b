import type { Config } from '../config.ts';
import type { Database } from '../database/database.ts';
import type { Actor } from '../memory/origin.ts';
import { createDraft } from './create.ts';
import { findKeyDraftQuery } from './drafts.ts';

/** A propose-only key, and whose memory it proposes changes to. */
interface Proposer {
  tenant: string;
  /** When the tenant of the key was created. */
  tenantCreatedAt?: string | undefined;
  keyId: string;
  actor: Actor;
}

/**
 * The drafts of propose-only keys: each key has at most one open draft. Nothing is cached, because any replica may
 * create or close it.
 */
export class Proposals {
  readonly #database: Database;
  readonly #config: Config;
  /** Drafts that are being made, by tenant and key, so that the first writes of a key make one. */
  readonly #pending = new Map<string, Promise<string>>();

  constructor(database: Database, config: Config) {
    this.#database = database;
    this.#config = config;
  }

  /** The open draft of a key, or null. */
  async find(tenant: string, keyId: string): Promise<string | null> {
    return (await this.#database.query(findKeyDraftQuery, { tenant, keyId })).rows[0]?.id ?? null;
  }

  /**
   * The open draft of a key, which is created if there is none.
   *
   * @throws ServiceError when the tenant may not have one more draft
   */
  async findOrMake(proposer: Proposer): Promise<string> {
    const { tenant, keyId } = proposer;
    const found = await this.find(tenant, keyId);
    if (found !== null) return found;
    const key = `${tenant} ${keyId}`;
    const pending = this.#pending.get(key) ?? this.#make(proposer);
    this.#pending.set(key, pending);
    try {
      return await pending;
    } finally {
      this.#pending.delete(key);
    }
  }

  async #make({ tenant, keyId, actor, tenantCreatedAt }: Proposer): Promise<string> {
    const label = 'label' in actor ? actor.label : '';
    const title = `Proposed by ${label || keyId}`;
    const draft = { title, author: actor, keyId, tenantCreatedAt };
    return (await createDraft(this.#database, this.#config, tenant, draft)).id;
  }
}
