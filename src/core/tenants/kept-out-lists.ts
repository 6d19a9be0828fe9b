import type { Config } from '../config.ts';
import type { Database } from '../database/database.ts';
import { defineQuery, type QueryExecutor } from '../database/query.ts';
import { timeSliced } from '../lib/time-slice.ts';
import { LAST_ID } from '../lib/uuids.ts';
import {
  type KeptOutEntry,
  KeptOutList,
  KeptOutTexts,
  type KeyedHashes,
} from '../memory/secrets/kept-out.ts';
import { findInstallation, type Installation, keyedHashes } from './installation.ts';
import { FOR_ALL, KEPT_CHANGES } from './kept-out-entries.ts';
import type { TenantRow } from './queries.ts';

const ROWS_A_PAGE = 2000;

/** A row that has changed. The values for a removed entry are placeholders. */
interface ChangedRow extends KeptOutEntry {
  id: string;
  owner: string;
  change: number;
  removed: 'entry' | 'all' | null;
}

/** Reads the rows after a position, ordered by change. A row that changes meanwhile moves to the end. */
const listChangesQuery = defineQuery<{ change: number; id: string; limit: number }, ChangedRow>(
  'list_kept_out_changes',
  `
SELECT id::text, tenant_id AS owner, encode(hash, 'hex') AS hash, prefix, tokens, change::float8 AS change, removed
FROM kept_out WHERE (change, id) > ($change::bigint, $id::text::uuid) ORDER BY change, id LIMIT $limit::bigint
`,
);

/**
 * Returns the time after which every write keeps out a text that was added to a list. A call scans its text with a list
 * from the last `AUTH_CACHE_SECONDS`, and then its statement runs.
 */
export function keptOutEverywhereMs({
  AUTH_CACHE_SECONDS,
  DB_STATEMENT_TIMEOUT_MS,
}: Pick<Config, 'AUTH_CACHE_SECONDS' | 'DB_STATEMENT_TIMEOUT_MS'>): number {
  return AUTH_CACHE_SECONDS * 1000 + DB_STATEMENT_TIMEOUT_MS;
}

/**
 * The texts that are kept out, for all tenants in a process. Each reading reads one number from the database, and reads
 * the changed entries only if the number has changed.
 */
export class KeptOutLists {
  readonly #database: Pick<Database, 'query'>;
  readonly #config: Config;
  #entries = new Entries();
  /** Time when the last reading started, in milliseconds. */
  #readAt = Number.NEGATIVE_INFINITY;
  #running: Promise<Entries> | undefined;
  #waiting: Promise<Entries> | undefined;

  constructor(database: Pick<Database, 'query'>, config: Config) {
    this.#database = database;
    this.#config = config;
  }

  /**
   * Reads the changes.
   *
   * @throws ServiceError if the installation's secret is not configured
   */
  async check(): Promise<void> {
    await this.#current();
  }

  /**
   * Returns the texts that are kept out of a tenant, or out of a draft's original; undefined for none.
   *
   * @throws ServiceError if the installation's secret is not configured
   */
  async textsFor(tenant: Pick<TenantRow, 'id' | 'draftOf'>): Promise<KeptOutTexts | undefined> {
    return (await this.#current()).textsFor(tenant);
  }

  /**
   * Returns the texts like `textsFor`, by a reading from the last `AUTH_CACHE_SECONDS`. A call must begin with these
   * texts, because its request's policy may be older: a request body can take minutes.
   */
  recentTextsFor(
    tenant: Pick<TenantRow, 'id' | 'draftOf'>,
  ): KeptOutTexts | undefined | Promise<KeptOutTexts | undefined> {
    const isRecent = performance.now() < this.#readAt + this.#config.AUTH_CACHE_SECONDS * 1000;
    return isRecent ? this.#entries.textsFor(tenant) : this.textsFor(tenant);
  }

  /** Returns the entries, as of a reading that starts after the call. Calls during a reading share the next reading. */
  #current(): Promise<Entries> {
    if (this.#running === undefined) {
      this.#running = this.#read().finally(() => {
        this.#running = undefined;
      });
      return this.#running;
    }
    this.#waiting ??= this.#running.then(noValue, noValue).then(() => {
      this.#waiting = undefined;
      return this.#current();
    });
    return this.#waiting;
  }

  async #read(): Promise<Entries> {
    const readAt = performance.now();
    const installation = await findInstallation(this.#database.query, this.#config);
    this.#entries = installation === undefined ? new Entries() : await this.#readChanged(installation);
    this.#readAt = readAt;
    return this.#entries;
  }

  async #readChanged(installation: Installation): Promise<Entries> {
    const changes = installation.keptOutChanges;
    const known = this.#entries;
    if (changes === known.changes) return known;
    // Removals are deleted after `KEPT_CHANGES`. In a restored database, the number is smaller.
    const isKnown = known.changes >= Math.max(0, changes - KEPT_CHANGES) && known.changes <= changes;
    const entries = isKnown ? known : new Entries();
    await entries.read(this.#database.query);
    entries.hashes = keyedHashes(installation);
    entries.changes = changes;
    return entries;
  }
}

/** An installation's entries as of a number of changes. A reading adds later changes. */
class Entries {
  /** -1 before the first reading. */
  changes = -1;
  hashes: KeyedHashes | undefined;
  readonly #owners = new Map<string, string>();
  readonly #tenants = new Map<string, { rows: Map<string, ChangedRow>; list: KeptOutList }>();

  /** Applies the changes since the last reading. Applying a change twice has no effect. */
  async read(query: QueryExecutor): Promise<void> {
    let last = { change: this.changes, id: LAST_ID };
    for (let isEnd = false; !isEnd; ) {
      const { rows } = await query(listChangesQuery, { ...last, limit: ROWS_A_PAGE });
      for await (const row of timeSliced(rows)) this.#apply(row);
      last = rows.at(-1) ?? last;
      isEnd = rows.length < ROWS_A_PAGE;
    }
  }

  textsFor({ id, draftOf }: Pick<TenantRow, 'id' | 'draftOf'>): KeptOutTexts | undefined {
    const lists = [FOR_ALL, draftOf ?? id].flatMap((owner) => this.#tenants.get(owner)?.list ?? []);
    if (this.hashes === undefined || lists.length === 0) return undefined;
    return new KeptOutTexts(lists, this.hashes);
  }

  #apply(row: ChangedRow): void {
    const { id, owner, change, removed } = row;
    if (removed === 'all') {
      const rows = this.#tenants.get(owner)?.rows.values() ?? [];
      for (const each of [...rows]) if (each.change < change) this.#remove(each.id);
      return;
    }
    this.#remove(id);
    if (removed !== null) return;
    const tenant = this.#tenants.get(owner) ?? { rows: new Map(), list: new KeptOutList() };
    tenant.rows.set(id, row);
    tenant.list.add(row);
    this.#tenants.set(owner, tenant);
    this.#owners.set(id, owner);
  }

  #remove(id: string): void {
    const owner = this.#owners.get(id) ?? '';
    const tenant = this.#tenants.get(owner);
    const row = tenant?.rows.get(id);
    if (tenant === undefined || row === undefined) return;
    tenant.rows.delete(id);
    tenant.list.remove(row);
    this.#owners.delete(id);
    if (tenant.rows.size === 0) this.#tenants.delete(owner);
  }
}

function noValue(): void {}
