import type { Database } from '../database/database.ts';
import { defineBatchQuery, defineQuery, time } from '../database/query.ts';
import { ROOT } from '../memory/path.ts';
import { VISIBLE } from './read-queries.ts';

/** The interval of the checks for changes. Each check of a tenant reads one row. */
const CHECK_EVERY_MS = 1000;

const lastChangesBatchQuery = defineBatchQuery(
  'last_changes',
  { tenant: 'text' },
  (calls) =>
    `SELECT c.item::integer, ${time('t.last_change_at')} AS at FROM ${calls} JOIN tenants AS t ON t.id = c.tenant`,
);

const lastChangeQuery = defineQuery<{ tenant: string }, { at: string | null }>(
  'last_change',
  `SELECT ${time('last_change_at')} AS at FROM tenants WHERE id = $tenant`,
  lastChangesBatchQuery,
);

/** Reads the versions of files, and a hash of the paths of the files in two levels below the root. */
const watchedStateQuery = defineQuery<
  { tenant: string; paths: string[] },
  { versions: Record<string, string> | null; list: string | null }
>(
  'watched_state',
  `
SELECT (
  SELECT jsonb_object_agg(path, version) FROM entries
  WHERE tenant_id = $tenant AND path = ANY ($paths::text[]) AND kind = 'file'
) AS versions, (
  SELECT md5(string_agg(path, E'\\n' ORDER BY path)) FROM (
    SELECT path, kind FROM entries WHERE tenant_id = $tenant AND parent_path = '${ROOT}' AND ${VISIBLE}
    UNION ALL
    SELECT grandchildren.path, grandchildren.kind FROM (
      SELECT path FROM entries
      WHERE tenant_id = $tenant AND parent_path = '${ROOT}' AND kind = 'dir' AND ${VISIBLE}
    ) AS children CROSS JOIN LATERAL (
      SELECT path, kind FROM entries WHERE tenant_id = $tenant AND parent_path = children.path AND ${VISIBLE}
    ) AS grandchildren
  ) AS listed WHERE kind = 'file'
) AS list`,
);

/** Paths in the memory of one tenant, whose changes a watcher reports. */
export interface Watched {
  tenant: string;
  paths: readonly string[];
}

export interface Changes {
  /** Watched files that were created, changed, or deleted. */
  paths: string[];
  /** Whether a file was added to the list of files, or removed. The list has two levels, like a view of the root. */
  isListChanged: boolean;
}

interface State {
  /** Time of the tenant's latest change. Undefined if the tenant does not exist. */
  at: string | null | undefined;
  versions: Record<string, string>;
  list: string | null;
}

/** Reports changes of one tenant's files, by any replica. */
export class Watcher {
  readonly #database: Database;
  readonly #watched: Watched;
  readonly #onChange: (changes: Changes) => void;
  #state: State | undefined;

  constructor(database: Database, watched: Watched, onChange: (changes: Changes) => void) {
    this.#database = database;
    this.#watched = watched;
    this.#onChange = onChange;
  }

  /** Reports the changes since the last check. The first check only reads the state. */
  async check(): Promise<void> {
    const { tenant } = this.#watched;
    const [found] = (await this.#database.query(lastChangeQuery, { tenant })).rows;
    const before = this.#state;
    if (before !== undefined && before.at === found?.at) return;
    // A change after the time was read is part of the state, and the next check compares the state again.
    const now = await this.#read(found?.at);
    this.#state = now;
    if (before === undefined) return;
    const paths = this.#watched.paths.filter((path) => before.versions[path] !== now.versions[path]);
    const isListChanged = before.list !== now.list;
    if (paths.length > 0 || isListChanged) this.#onChange({ paths, isListChanged });
  }

  async #read(at: State['at']): Promise<State> {
    const { tenant, paths } = this.#watched;
    const { rows } = await this.#database.query(watchedStateQuery, { tenant, paths: [...paths] });
    return { at, versions: rows[0]?.versions ?? {}, list: rows[0]?.list ?? null };
  }
}

/** Checks all watchers of a process, as long as there are any. */
export class Watches {
  readonly #database: Database;
  readonly #watchers = new Set<Watcher>();
  readonly #timer: NodeJS.Timeout;
  #isChecking = false;

  constructor(database: Database) {
    this.#database = database;
    // The timer starts before the first request, because it would otherwise continue the trace of that request.
    this.#timer = setInterval(() => void this.#check(), CHECK_EVERY_MS).unref();
  }

  /**
   * Watches files until the returned function is called.
   *
   * @throws DatabaseError if the state of the files cannot be read
   */
  async watch(watched: Watched, onChange: (changes: Changes) => void): Promise<() => void> {
    const watcher = new Watcher(this.#database, watched, onChange);
    await watcher.check();
    this.#watchers.add(watcher);
    return () => this.#watchers.delete(watcher);
  }

  close(): void {
    clearInterval(this.#timer);
  }

  async #check(): Promise<void> {
    if (this.#isChecking) return;
    this.#isChecking = true;
    // A check that fails is repeated after the interval, and reports all changes since the last successful check.
    await Promise.allSettled([...this.#watchers].map((watcher) => watcher.check()));
    this.#isChecking = false;
  }
}
