import type { Config } from '../../core/config.ts';
import type { Database } from '../../core/database/database.ts';
import type { Actor } from '../../core/memory/origin.ts';
import { createDraft } from './create-draft.ts';
import { findKeyDraftQuery } from './drafts.ts';

/** A propose-only key, with the tenant to which it proposes changes. */
interface Proposer {
  tenant: string;
  /** Creation time of the key's tenant. */
  tenantCreatedAt?: string | undefined;
  keyId: string;
  actor: Actor;
}

/**
 * Manages the drafts for propose-only keys. Each key has at most one open draft. Drafts are not cached, because any
 * replica may create or close them.
 */
export class Proposals {
  readonly #database: Database;
  readonly #config: Config;
  /** Drafts being created, by tenant and key, so that a key's concurrent first writes share one draft. */
  readonly #pending = new Map<string, Promise<string>>();

  constructor(database: Database, config: Config) {
    this.#database = database;
    this.#config = config;
  }

  async find(tenant: string, keyId: string): Promise<string | null> {
    return (await this.#database.query(findKeyDraftQuery, { tenant, keyId })).rows[0]?.id ?? null;
  }

  /**
   * Returns a key's open draft, and creates the draft if the key has none.
   *
   * @throws ServiceError if the tenant may not have another draft
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
