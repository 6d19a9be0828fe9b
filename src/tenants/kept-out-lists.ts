import type { Config } from '../config.ts';
import type { Database } from '../database/database.ts';
import { defineQuery, type QueryExecutor } from '../database/query.ts';
import {
  type KeptOutEntry,
  KeptOutList,
  KeptOutTexts,
  type KeyedHashes,
} from '../memory/secrets/kept-out.ts';
import { findInstallation, keyedHashes } from './installation.ts';
import { FIRST_ENTRY, FOR_ALL } from './kept-out.ts';
import type { TenantRow } from './queries.ts';

const ENTRIES_A_PAGE = 5000;

const listHashesQuery = defineQuery<
  { after: string; limit: number },
  KeptOutEntry & { id: string; owner: string }
>(
  'list_kept_out_hashes',
  `
SELECT id::text, tenant_id AS owner, encode(hash, 'hex') AS hash, prefix, tokens FROM kept_out
WHERE id > $after::text::uuid ORDER BY id LIMIT $limit::bigint
`,
);

/** The entries of an installation as of one number of changes. */
interface Snapshot {
  changes: number;
  hashes: KeyedHashes | undefined;
  /** Entries by tenant, and the list for each tenant that was looked up. */
  entries: ReadonlyMap<string, KeptOutEntry[]>;
  lists: Map<string, KeptOutList>;
}

const EMPTY: Snapshot = { changes: 0, hashes: undefined, entries: new Map(), lists: new Map() };

/**
 * The texts that are kept out, for all tenants of a process. Each lookup reads one number from the database, and reads
 * the entries again only if the number has changed. The cache of policies looks tenants up at most once in
 * `AUTH_CACHE_SECONDS`, so an entry applies on every replica within this time.
 */
export class KeptOutLists {
  readonly #database: Pick<Database, 'query'>;
  readonly #config: Config;
  #snapshot: Snapshot = EMPTY;
  #running: Promise<Snapshot> | undefined;
  #waiting: Promise<Snapshot> | undefined;

  constructor(database: Pick<Database, 'query'>, config: Config) {
    this.#database = database;
    this.#config = config;
  }

  /** @throws ServiceError if the secret of the installation is not configured */
  async check(): Promise<void> {
    await this.#current();
  }

  /**
   * Returns the texts that are kept out of a tenant, or of the original of a draft; undefined for none.
   *
   * @throws ServiceError if the secret of the installation is not configured
   */
  async textsFor(tenant: Pick<TenantRow, 'id' | 'draftOf'>): Promise<KeptOutTexts | undefined> {
    return (await this.lookUp())(tenant);
  }

  /** Returns a function like `textsFor`, for callers that look up the tenant at the same time. */
  async lookUp(): Promise<(tenant: Pick<TenantRow, 'id' | 'draftOf'>) => KeptOutTexts | undefined> {
    const snapshot = await this.#current();
    return (tenant) => textsIn(snapshot, tenant);
  }

  /** Returns a snapshot that is read after the call. Calls during a reading share the next reading. */
  #current(): Promise<Snapshot> {
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

  async #read(): Promise<Snapshot> {
    const { query } = this.#database;
    const installation = await findInstallation(query, this.#config);
    if (installation === undefined) return EMPTY;
    const changes = installation.keptOutChanges;
    if (changes !== this.#snapshot.changes) {
      const entries = await readEntries(query);
      this.#snapshot = { changes, hashes: keyedHashes(installation), entries, lists: new Map() };
    }
    return this.#snapshot;
  }
}

function textsIn(
  { hashes, entries, lists }: Snapshot,
  { id, draftOf }: Pick<TenantRow, 'id' | 'draftOf'>,
): KeptOutTexts | undefined {
  const owned = [FOR_ALL, draftOf ?? id].filter((owner) => entries.has(owner));
  if (hashes === undefined || owned.length === 0) return undefined;
  for (const owner of owned) {
    if (!lists.has(owner)) lists.set(owner, new KeptOutList(entries.get(owner) ?? []));
  }
  return new KeptOutTexts(
    owned.map((owner) => lists.get(owner) as KeptOutList),
    hashes,
  );
}

function noValue(): void {}

async function readEntries(query: QueryExecutor): Promise<Map<string, KeptOutEntry[]>> {
  const entries = new Map<string, KeptOutEntry[]>();
  for (let after: string | undefined = FIRST_ENTRY; after !== undefined; ) {
    const rows: (KeptOutEntry & { id: string; owner: string })[] = (
      await query(listHashesQuery, { after, limit: ENTRIES_A_PAGE })
    ).rows;
    for (const { owner, hash, prefix, tokens } of rows) {
      const owned = entries.get(owner);
      if (owned === undefined) entries.set(owner, [{ hash, prefix, tokens }]);
      else owned.push({ hash, prefix, tokens });
    }
    after = rows.length < ENTRIES_A_PAGE ? undefined : rows.at(-1)?.id;
  }
  return entries;
}
