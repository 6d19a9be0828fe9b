import type { Config } from '../../core/config.ts';
import type { Database } from '../../core/database/database.ts';
import { type Actor, actorText } from '../../core/memory/origin.ts';
import { createDraft } from './create-draft.ts';
import { findKeyDraftQuery } from './drafts.ts';

/** A caller whose writes a draft collects, with the tenant to which it proposes changes. */
interface Proposer {
  tenant: string;
  /** The tenant's creation time. */
  tenantCreatedAt?: string | undefined;
  keyId: string;
  actor: Actor;
  /** Tenant through whose mount the caller writes. */
  viaTenant?: string | undefined;
}

/**
 * Manages the drafts for propose-only keys, and for callers that write through a mount. Each has at most one open draft
 * for a memory. Drafts are not cached, because any replica may create or close them.
 */
export class Proposals {
  readonly #database: Database;
  readonly #config: Config;
  /** Drafts being created, by tenant and proposer, so that concurrent first writes share one draft. */
  readonly #pending = new Map<string, Promise<string>>();

  constructor(database: Database, config: Config) {
    this.#database = database;
    this.#config = config;
  }

  async find(tenant: string, keyId: string): Promise<string | null> {
    return (await this.#database.query(findKeyDraftQuery, { tenant, keyId })).rows[0]?.id ?? null;
  }

  /**
   * Returns a proposer's open draft, and creates the draft if there is none.
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

  async #make({ tenant, ...draft }: Proposer): Promise<string> {
    const { actor } = draft;
    const title = `Proposed by ${actor.type === 'api_key' ? actor.label || actor.id : actorText(actor)}`;
    return (await createDraft(this.#database, this.#config, tenant, { ...draft, title, author: actor })).id;
  }
}
