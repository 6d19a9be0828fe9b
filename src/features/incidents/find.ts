import { setTimeout as delay } from 'node:timers/promises';
import type { Database } from '../../core/database/database.ts';
import { runWithRetries } from '../../core/database/database-errors.ts';
import { defineQuery, time } from '../../core/database/query.ts';
import { isBy } from '../../core/history/version.ts';
import { FIRST_ID, LAST_ID } from '../../core/lib/uuids.ts';
import { WorkerThreads } from '../../core/lib/worker-threads.ts';
import type { Origin } from '../../core/memory/origin.ts';
import { openDraftIds } from '../drafts/drafts.ts';
import type { FindQuery, ScannedRow, ScanResult, ScanTask } from './find-scan.ts';
import type { StepRunner } from './job-kind.ts';

/* Finds a text in a tenant: in its current files, superseded versions, open drafts, and paths. */

/** Places in a tenant that a find reads. */
export const PLACES = ['current', 'superseded', 'drafts'] as const;

export interface FindRequest {
  query: FindQuery;
  places: readonly (typeof PLACES)[number][];
  /** The versions' actor, as in `VersionFilter` (src/core/history/history.ts); null for all. */
  by: string | null;
  /** Version times in ISO 8601, inclusive; null for all. */
  since: string | null;
  until: string | null;
}

/** A version or a directory that contains the text. The hit has no text itself: `readHits` reads the excerpt. */
export interface Hit {
  tenant: string;
  /** The open draft's ID; null for the memory itself. */
  draft: string | null;
  /** Null for a directory. */
  memoryId: string | null;
  /** Null for a directory. */
  versionId: string | null;
  place: 'current' | 'superseded';
  in: 'content' | 'path';
  path: string;
  /** The first matching line's number or, for words, the best line's number. Null for a path. */
  line: number | null;
  /** The excerpt's offset in the line. */
  from: number;
  /** Number of matching lines. A match by words counts as one. */
  lines: number;
  origin: Origin | null;
  at: string | null;
}

export interface FoundPage {
  hits: Hit[];
  /** Number of versions that were read, and their origins. */
  versions: number;
  origins: (Origin | null)[];
  /** Number of contents and paths that were not searched, because the search would have taken too long. */
  unsearched: number;
}

interface VersionRow {
  id: string;
  memoryId: string;
  path: string | null;
  content: string | null;
  spliceStart: number | null;
  spliceLength: number | null;
  isCurrent: boolean;
  isWanted: boolean;
  origin: Origin | null;
  at: string;
}

const PAGE = { limit: 500, bytes: 2 ** 19 };

/** Columns for `VersionRow`. An unwanted version is read too, because older versions are splices of it. */
const columns = (
  isCurrent: boolean,
) => `id, memory_id, path, content, splice_start, splice_length, ${isCurrent} AS is_current, origin, created_at,
      ((${isBy('origin', '$by')}) OR $by::text IS NULL)
        AND created_at >= COALESCE($since::text::timestamptz, '-infinity')
        AND created_at <= COALESCE($until::text::timestamptz, 'infinity') AS is_wanted`;

/**
 * Reads a page of versions from all files, by descending file and version. A version that changes from current to
 * superseded meanwhile is read once, because a statement has one snapshot, and a file has its current version first.
 * The page ends before the version that would exceed `bytes`, but has at least one version.
 */
const findPageQuery = defineQuery<
  {
    tenant: string;
    memory: string;
    version: string;
    superseded: boolean;
    by: string | null;
    since: string | null;
    until: string | null;
    limit: number;
    bytes: number;
  },
  VersionRow
>(
  'find_page',
  `
SELECT id, memory_id AS "memoryId", path, content, splice_start AS "spliceStart", splice_length AS "spliceLength",
  is_current AS "isCurrent", is_wanted AS "isWanted", origin, ${time('created_at')} AS at
FROM (
  SELECT *, sum(COALESCE(octet_length(content), 0) + 200) OVER (ORDER BY memory_id DESC, id DESC) - COALESCE(octet_length(content), 0) - 200 AS before
  FROM (
    (SELECT ${columns(true)} FROM (
      SELECT version AS id, memory_id, path, content, NULL::integer AS splice_start, NULL::integer AS splice_length,
        origin, changed_at AS created_at
      FROM entries WHERE tenant_id = $tenant AND memory_id < $memory::text::uuid
      ORDER BY memory_id DESC LIMIT $limit::bigint
    ) AS e)
    UNION ALL
    (SELECT ${columns(false)} FROM (
      SELECT id, memory_id, path, content, splice_start, splice_length, origin, created_at FROM versions
      WHERE tenant_id = $tenant AND $superseded::boolean
        AND (memory_id, id) < ($memory::text::uuid, $version::text::uuid)
      ORDER BY memory_id DESC, id DESC LIMIT $limit::bigint
    ) AS v)
    ORDER BY memory_id DESC, id DESC LIMIT $limit::bigint
  ) AS page
) AS sized
WHERE before < $bytes::bigint ORDER BY memory_id DESC, id DESC
`,
);

/** Reads a page of the directories that exist or existed, each path once. */
const findDirectoriesQuery = defineQuery<
  { tenant: string; after: string; limit: number },
  { path: string; isCurrent: boolean }
>(
  'find_directories',
  `
SELECT path, bool_or(removed_at IS NULL) AS "isCurrent" FROM memory_directories
WHERE tenant_id = $tenant AND path > $after GROUP BY path ORDER BY path LIMIT $limit::bigint
`,
);

/** Time limit for a page in the thread. A page that takes longer is not searched. */
const DEADLINE_MS = 30_000;
const MAX_HEAP_MIB = 256;

export type FindThread = WorkerThreads<ScanTask, ScanResult>;

/** Creates the thread that searches. One thread leaves the other cores to requests. */
export function createFindThread(): FindThread {
  return new WorkerThreads({
    module: new URL('./find-scan', import.meta.url),
    threads: 1,
    idleMs: 30_000,
    maxHeapMiB: MAX_HEAP_MIB,
  });
}

/** Creates the finder for a job kind. The caller closes the thread. */
export function createJobFinder(database: Database): { finder: Finder; thread: FindThread } {
  const thread = createFindThread();
  // The pauses leave at least half the time on a core, and in the database, to requests.
  return { finder: new Finder(database, thread, (busyMs) => busyMs), thread };
}

/**
 * Finds texts in tenants. Memory is bounded by one page of versions, and one content. Methods throw `DatabaseError`.
 */
export class Finder {
  readonly #database: Database;
  readonly #thread: FindThread;
  readonly #restMs: (busyMs: number) => number;

  /** @param restMs pause after a page that took `busyMs`, so that the tenants' requests do not wait */
  constructor(database: Database, thread: FindThread, restMs: (busyMs: number) => number = () => 0) {
    this.#database = database;
    this.#thread = thread;
    this.#restMs = restMs;
  }

  /**
   * Yields the hits in a tenant and its open drafts, page by page. Each file is read at one time. Files created
   * meanwhile are not read.
   *
   * @param turn runs each page's search
   */
  async *find(
    tenant: string,
    request: FindRequest,
    signal: AbortSignal,
    turn: StepRunner = (step) => step(),
  ): AsyncGenerator<FoundPage> {
    const { places } = request;
    if (places.includes('current') || places.includes('superseded'))
      yield* this.#findIn({ tenant, draft: null }, request, signal, turn);
    if (!places.includes('drafts')) return;
    for (const draft of await openDraftIds(this.#database.query, tenant))
      yield* this.#findIn({ tenant, draft }, request, signal, turn);
  }

  async *#findIn(
    store: Store,
    request: FindRequest,
    signal: AbortSignal,
    turn: StepRunner,
  ): AsyncGenerator<FoundPage> {
    yield* this.#pages(this.#findVersions(store, request, signal), signal, turn);
    const hasFilter = [request.by, request.since, request.until].some((each) => each !== null);
    if (!hasFilter && request.query.where !== 'content')
      yield* this.#pages(this.#findDirectories(store, request, signal), signal, turn);
  }

  /** Finds each page in a turn, and pauses after it. */
  async *#pages(
    pages: AsyncGenerator<FoundPage>,
    signal: AbortSignal,
    turn: StepRunner,
  ): AsyncGenerator<FoundPage> {
    for (;;) {
      const page = await turn(async () => {
        const startedAt = performance.now();
        const next = await pages.next();
        if (!next.done) await this.#rest(startedAt, signal);
        return next;
      });
      if (page.done) return;
      yield page.value;
    }
  }

  async *#findVersions(store: Store, request: FindRequest, signal: AbortSignal): AsyncGenerator<FoundPage> {
    const { query, by, since, until } = request;
    const tenant = store.draft ?? store.tenant;
    const superseded = store.draft !== null || request.places.includes('superseded');
    let position = { memory: LAST_ID, version: FIRST_ID };
    let newer: Uint8Array | null = null;
    for (;;) {
      const params = { tenant, ...position, superseded, by, since, until, ...PAGE };
      const { rows } = await runWithRetries(true, () => this.#database.query(findPageQuery, params));
      const last = rows.at(-1);
      if (last === undefined) return;
      const isRead = (row: VersionRow) =>
        row.isWanted && (store.draft !== null || request.places.includes(hitPlace(row)));
      const scannedRows = rows.map((row, i) => ({
        content: row.content,
        spliceStart: row.spliceStart,
        spliceLength: row.spliceLength,
        path: row.path,
        continues: row.memoryId === (i === 0 ? position.memory : rows[i - 1]?.memoryId),
        searchesContent: query.where !== 'path' && isRead(row),
        searchesPath: query.where !== 'content' && isRead(row),
      }));
      const scanned = await this.#scan({ query, rows: scannedRows, newer }, signal);
      newer = scanned.newer;
      position = { memory: last.memoryId, version: last.id };
      const hits = scanned.matches.flatMap(({ row, ...match }): Hit[] => {
        const version = rows[row];
        if (version === undefined) return [];
        const { id, memoryId, path, origin, at } = version;
        return [
          {
            ...store,
            memoryId,
            versionId: id,
            place: hitPlace(version),
            ...match,
            path: path ?? '',
            origin,
            at,
          },
        ];
      });
      const origins = rows.map(({ origin }) => origin);
      yield { hits, versions: rows.length, origins, unsearched: scanned.unsearched };
    }
  }

  async *#findDirectories(
    store: Store,
    { query, places }: FindRequest,
    signal: AbortSignal,
  ): AsyncGenerator<FoundPage> {
    const tenant = store.draft ?? store.tenant;
    for (let after = ''; ; ) {
      const params = { tenant, after, limit: PAGE.limit };
      const { rows } = await runWithRetries(true, () => this.#database.query(findDirectoriesQuery, params));
      const last = rows.at(-1);
      if (last === undefined) return;
      const scannedRows = rows.map(
        (row): ScannedRow => ({
          ...DIRECTORY,
          path: row.path,
          searchesPath: store.draft !== null || places.includes(hitPlace(row)),
        }),
      );
      const { matches } = await this.#scan({ query, rows: scannedRows, newer: null }, signal);
      const hits = matches.flatMap(({ row, ...match }): Hit[] => {
        const directory = rows[row];
        if (directory === undefined) return [];
        const { path } = directory;
        return [{ ...store, ...NO_VERSION, place: hitPlace(directory), ...match, path }];
      });
      yield { hits, versions: 0, origins: [], unsearched: 0 };
      if (rows.length < PAGE.limit) return;
      after = last.path;
    }
  }

  /** Searches a page. If the search takes too much time or memory, the contents are only rebuilt. */
  async #scan(task: Omit<ScanTask, 'skips'>, signal: AbortSignal): Promise<ScanResult> {
    for (const skips of [false, true]) {
      const deadline = AbortSignal.timeout(DEADLINE_MS);
      try {
        const scanned = await this.#thread.run({ ...task, skips }, AbortSignal.any([signal, deadline]));
        if (scanned !== 'out_of_memory') return scanned;
      } catch (error) {
        if (!deadline.aborted) throw error;
      }
      signal.throwIfAborted();
    }
    const unsearched = task.rows.filter((row) => row.searchesContent || row.searchesPath).length;
    return { matches: [], unsearched, newer: null };
  }

  async #rest(startedAt: number, signal: AbortSignal): Promise<void> {
    const restMs = this.#restMs(performance.now() - startedAt);
    if (restMs > 0) await delay(restMs, undefined, { signal });
    signal.throwIfAborted();
  }
}

interface Store {
  tenant: string;
  draft: string | null;
}

const DIRECTORY = {
  content: null,
  spliceStart: null,
  spliceLength: null,
  continues: false,
  searchesContent: false,
} as const;
const NO_VERSION = { memoryId: null, versionId: null, origin: null, at: null } as const;

function hitPlace({ isCurrent }: { isCurrent: boolean }): Hit['place'] {
  return isCurrent ? 'current' : 'superseded';
}
