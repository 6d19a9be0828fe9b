import type { Database } from '../database/database.ts';
import { defineBatchQuery, defineQuery, time } from '../database/query.ts';
import { ServiceError } from '../errors/errors.ts';
import { timeSliced } from '../lib/time-slice.ts';
import { ROOT } from '../memory/path.ts';
import { hidesPaths, type Rights, shownParams } from '../memory/rights.ts';
import { NO_TENANT } from '../tenants/queries.ts';
import { isShownSql, VISIBLE } from './read-queries.ts';

/** The minimum time between two checks for changes. Each check reads one row per tenant. */
const CHECK_EVERY_MS = 500;
/** Rest after each check, as a multiple of the check's duration. */
const REST = 9;
/** Maximum number of tenants to look up at the same time. */
const MAX_CONCURRENT_LOOKUPS = 32;

const LAST_CHANGE = `${time('t.created_at')} AS "createdAt", ${time('t.last_change_at')} AS at,
  ${time('GREATEST(t.last_change_at, t.last_event_at)')} AS "eventAt"`;

const lastChangesBatchQuery = defineBatchQuery(
  'last_changes',
  { tenant: 'text' },
  (calls) => `SELECT c.item::integer, ${LAST_CHANGE} FROM ${calls} JOIN tenants AS t ON t.id = c.tenant`,
);

interface LastChange {
  /** When the files were last changed; null if never. */
  at: string | null;
  /** When the tenant last had a change or an event (src/core/tenants/events.ts). */
  eventAt: string | null;
}

/** Reads when a tenant was created and last changed. */
export const lastChangeQuery = defineQuery<{ tenant: string }, LastChange & { createdAt: string }>(
  'last_change',
  `SELECT ${LAST_CHANGE} FROM tenants AS t WHERE t.id = $tenant`,
  lastChangesBatchQuery,
);

/**
 * Reads the file versions, a hash over the file paths in two levels below the root that the caller may read and, if some
 * are hidden, a hash over all files that it may read.
 */
const watchedStateQuery = defineQuery<
  { tenant: string; paths: string[]; shown: string[]; hidden: string[] },
  {
    createdAt: string | null;
    versions: Record<string, string> | null;
    list: string | null;
    shownFiles: string | null;
  }
>(
  'watched_state',
  `
SELECT (SELECT ${time('created_at')} FROM tenants WHERE id = $tenant) AS "createdAt", (
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
  ) AS listed WHERE kind = 'file' AND ${isShownSql('listed.path')}
) AS list, CASE WHEN $hidden::text[] <> '{}' AND '${ROOT}' = ANY ($paths::text[]) THEN (
  SELECT md5(string_agg(version::text, '' ORDER BY path)) FROM entries
  WHERE tenant_id = $tenant AND kind = 'file' AND ${isShownSql('entries.path')}
) END AS "shownFiles"`,
);

/** Paths in one tenant's memory; a watcher reports changes to them. */
export interface Watched {
  tenant: string;
  /** The tenant's creation time, as in its policy. Changes to a later tenant with the same ID are not reported. */
  createdAt: string | null;
  /** Files that the caller may read. The root stands for the whole memory. */
  paths: readonly string[];
  /** The caller's rights in this memory. Changes to hidden files are not reported. */
  rights?: Rights | undefined;
}

export interface Changes {
  /** Watched files that were created, changed, or deleted, and the root if it is watched. */
  paths: string[];
  /** Whether a file was added to the list of files, or removed. The list has two levels, like a view of the root. */
  isListChanged: boolean;
}

interface State {
  /** Null if the tenant does not exist. */
  createdAt: string | null;
  /** Time of the tenant's latest change. Undefined if the tenant does not exist. */
  at: string | null | undefined;
  versions: Record<string, string>;
  list: string | null;
  /** Differs after each change to a file that the caller may read. */
  files: string | null | undefined;
}

/** Reports changes to one tenant's files, by any replica. */
class Watcher {
  readonly watched: Watched;
  readonly #onChange: (changes: Changes) => void;
  #state: State;

  constructor(watched: Watched, onChange: (changes: Changes) => void, state: State) {
    this.watched = watched;
    this.#onChange = onChange;
    this.#state = state;
  }

  /** Whether the tenant has changed since the state that the watcher knows. */
  isBehind(at: State['at']): boolean {
    return this.#state.at !== at;
  }

  /** Whether a state belongs to the watched tenant. A tenant that does not exist may still be created. */
  isSameTenant({ createdAt }: State): boolean {
    const { createdAt: expected } = this.watched;
    return expected === null || expected === NO_TENANT || expected === createdAt;
  }

  /** Reports the changes since the last state, after a change to the memory. */
  report(now: State): void {
    const before = this.#state;
    this.#state = now;
    const paths = this.watched.paths.filter((path) =>
      path === ROOT ? before.files !== now.files : before.versions[path] !== now.versions[path],
    );
    const isListChanged = before.list !== now.list;
    if (paths.length > 0 || isListChanged) this.#onChange({ paths, isListChanged });
  }
}

/** Returns the same text for watchers that may read the same files, which share a read. */
function rightsKey({ watched: { rights } }: Watcher): string {
  const { shown, hidden } = shownParams(rights);
  return JSON.stringify([shown, hidden]);
}

/** Learns that a tenant has changed, and reads the changes itself. */
interface Follower {
  /** Time of the latest reported change or event; undefined before the first report. */
  at: State['at'];
  readonly onChange: () => Promise<void>;
  readonly hearsWrites: boolean;
}

/**
 * Checks all watchers and followers in a process. A check reads a tenant once for all watchers with the same rights, and
 * one changed tenant at a time. It rests after the work, so that watchers use a limited share of the database.
 */
export class Watches {
  readonly #database: Database;
  readonly #watchers = new Map<string, Set<Watcher>>();
  readonly #followers = new Map<string, Set<Follower>>();
  #timer: NodeJS.Timeout;
  #lastCheck: Promise<void> = Promise.resolve();
  #isClosed = false;

  constructor(database: Database) {
    this.#database = database;
    // The timer starts before the first request, because the timer would otherwise continue that request's trace.
    this.#timer = this.#schedule(CHECK_EVERY_MS);
  }

  /**
   * Watches files until the returned function is called.
   *
   * @throws DatabaseError if the file state cannot be read
   */
  async watch(watched: Watched, onChange: (changes: Changes) => void): Promise<() => void> {
    const { tenant, paths, rights } = watched;
    // A change after the time was read is already in the state, and the next check compares the state again.
    const state = await this.#read(tenant, (await this.#lastChange(tenant))?.at, paths, rights);
    const watcher = new Watcher(watched, onChange, state);
    if (!watcher.isSameTenant(state)) throw new ServiceError('tenant_replaced', tenant);
    const watchers = this.#watchers.get(tenant) ?? new Set();
    this.#watchers.set(tenant, watchers.add(watcher));
    return () => {
      watchers.delete(watcher);
      if (watchers.size === 0 && this.#watchers.get(tenant) === watchers) this.#watchers.delete(tenant);
    };
  }

  /**
   * Reports each change to a tenant by any replica, until the returned function is called. The first check reports a
   * change too.
   *
   * @param options.hearsWrites reports this process's writes immediately; then a check reports them a second time
   */
  follow(tenant: string, onChange: () => Promise<void>, { hearsWrites = false } = {}): () => void {
    const follower = { at: undefined, onChange, hearsWrites };
    const followers = this.#followers.get(tenant) ?? new Set();
    this.#followers.set(tenant, followers.add(follower));
    return () => {
      followers.delete(follower);
      if (followers.size === 0 && this.#followers.get(tenant) === followers) this.#followers.delete(tenant);
    };
  }

  /** Tells the followers that hear writes about a write by this process. */
  noteWrite(tenant: string): void {
    for (const { hearsWrites, onChange } of this.#followers.get(tenant) ?? [])
      if (hearsWrites) void onChange();
  }

  close(): void {
    this.#isClosed = true;
    clearTimeout(this.#timer);
  }

  /**
   * Reports the changes since the last check, after a check that is running. A tenant that cannot be read is part of the
   * next check.
   */
  check(): Promise<void> {
    this.#lastCheck = this.#lastCheck.then(() => this.#check());
    return this.#lastCheck;
  }

  async #check(): Promise<void> {
    const tenants = [...new Set([...this.#watchers.keys(), ...this.#followers.keys()])];
    while (tenants.length > 0) {
      const checked = await Promise.allSettled(
        tenants.splice(0, MAX_CONCURRENT_LOOKUPS).map(async (tenant) => ({
          tenant,
          last: await this.#lastChange(tenant),
        })),
      );
      for (const each of checked)
        if (each.status === 'fulfilled')
          await this.#report(each.value.tenant, each.value.last).catch(() => {});
    }
  }

  /** Reports changes to the tenant to its followers and watchers, and events to its followers. */
  async #report(tenant: string, last: LastChange | undefined): Promise<void> {
    const { at, eventAt } = last ?? {};
    for await (const follower of timeSliced([...(this.#followers.get(tenant) ?? [])])) {
      if (eventAt !== undefined && follower.at === eventAt) continue;
      follower.at = eventAt;
      await follower.onChange();
    }
    const behind = [...(this.#watchers.get(tenant) ?? [])].filter((watcher) => watcher.isBehind(at));
    for (const watchers of Map.groupBy(behind, rightsKey).values()) {
      const paths = new Set(watchers.flatMap(({ watched }) => watched.paths));
      const now = await this.#read(tenant, at, [...paths], watchers[0]?.watched.rights);
      for await (const watcher of timeSliced(watchers))
        if (this.#watchers.get(tenant)?.has(watcher) && watcher.isSameTenant(now)) watcher.report(now);
    }
  }

  async #lastChange(tenant: string): Promise<LastChange | undefined> {
    return (await this.#database.query(lastChangeQuery, { tenant })).rows[0];
  }

  async #read(
    tenant: string,
    at: State['at'],
    paths: readonly string[],
    rights: Rights | undefined,
  ): Promise<State> {
    const { shown, hidden } = shownParams(rights);
    const params = { tenant, paths: [...paths], shown, hidden };
    const { rows } = await this.#database.query(watchedStateQuery, params);
    const { createdAt = null, versions, list = null, shownFiles = null } = rows[0] ?? {};
    const files = hidesPaths(rights) ? shownFiles : at;
    return { createdAt, at, versions: versions ?? {}, list, files };
  }

  #schedule(ms: number): NodeJS.Timeout {
    return setTimeout(async () => {
      const startedAt = performance.now();
      await this.check();
      const busyMs = performance.now() - startedAt;
      if (!this.#isClosed) this.#timer = this.#schedule(Math.max(CHECK_EVERY_MS, REST * busyMs));
    }, ms).unref();
  }
}
