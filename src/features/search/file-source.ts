import type { Database } from '../../core/database/database.ts';
import { runWithRetries } from '../../core/database/database-errors.ts';
import { defineQuery, type Query, type Value } from '../../core/database/query.ts';
import { entriesAtPaths, findPathsQuery, lookupShownQuery } from '../../core/files/read-queries.ts';
import { History } from '../../core/history/history.ts';
import { type EntryRow, findAt, treePageAt } from '../../core/history/past.ts';
import { compareCodePoints } from '../../core/lib/text-forms.ts';
import { isWithin, type MemoryPath, ROOT } from '../../core/memory/path.ts';
import { hidesPaths, type Rights, shownParams } from '../../core/memory/rights.ts';
import type { SearchedFile } from './search-query.ts';
import { shareTexts } from './shared-text.ts';
import { bytesInMemory, type CachedFile, type CachedMemory, type TextCache } from './text-cache.ts';

/** A current file, as read from the database. */
type StoredFile = SearchedFile<string> & Pick<CachedFile, 'version'>;

/** Page size. A page is read by one statement and searched as a whole. */
const PAGE = { files: 100, bytes: 2 ** 19 };
/** Page size for files that are in memory. */
const CACHED_PAGE = { files: 400, bytes: 2 ** 21 };

const COLUMNS =
  'path, content, size_bytes AS bytes, extract(epoch FROM updated_at)::float8 AS modified, version::text AS version';

/**
 * Reads a page: files at a path and below it, sorted by path. The page has at most `limit` files, and ends before the
 * file that would exceed `bytes`, but has at least one file. The first page is after ''.
 */
const searchPageQuery = defineQuery<
  { tenant: string; path: string; after: string; limit: number; bytes: number },
  StoredFile
>(
  'search_page',
  `
SELECT path, content, bytes, modified, version FROM (
  SELECT ${COLUMNS},
    sum(size_bytes) OVER (ORDER BY path) - size_bytes AS before
  FROM entries
  WHERE tenant_id = $tenant AND kind = 'file' AND path > $after AND memory_in_subtree(path, $path)
  ORDER BY path LIMIT $limit
) AS page
WHERE before < $bytes::bigint ORDER BY path
`,
);

/**
 * Reads a tenant's state. Each change to the tenant's files changes the state, even when another tenant gets the ID.
 */
const searchStateQuery = defineQuery<{ tenant: string }, { state: string }>(
  'search_state',
  `
SELECT concat_ws(' ', extract(epoch FROM created_at), extract(epoch FROM last_change_at), file_count,
  byte_count) AS state
FROM tenants WHERE id = $tenant
`,
);

const VERSIONS_PAGE = 10_000;

/** Reads a page: paths and versions for all files, sorted by path. */
const searchVersionsQuery = defineQuery<
  { tenant: string; after: string; limit: number },
  Pick<CachedFile, 'path' | 'version' | 'bytes'>
>(
  'search_versions',
  `
SELECT path, version::text AS version, size_bytes AS bytes FROM entries
WHERE tenant_id = $tenant AND kind = 'file' AND path > $after ORDER BY path LIMIT $limit
`,
);

const searchFilesQuery = defineQuery<{ tenant: string; paths: string[] }, StoredFile>(
  'search_files',
  `SELECT e.* FROM ${entriesAtPaths(`kind, ${COLUMNS}`)} WHERE e.kind = 'file'`,
);

/** A tenant's files that a search reads, now or at a time. Throws `DatabaseError`. */
export interface FileSource {
  /**
   * Returns the page after the path `after`, with files at a path and below it. The first page is after ''. An empty
   * page is the last page.
   */
  page(path: MemoryPath, after: string): Promise<SearchedFile[]>;
  /** Returns the files at paths, in any order. A file that does not exist anymore is missing. */
  read(paths: readonly MemoryPath[]): Promise<SearchedFile[]>;
  /** Whether a file or directory that the caller may read exists at a path. */
  has(path: MemoryPath, rights?: Rights): Promise<boolean>;
}

/** Returns the current files. Files that did not change since an earlier search are read from the cache. */
export function filesNow(database: Database, tenant: string, cache: TextCache): FileSource {
  return new CurrentFiles(database, tenant, cache);
}

/**
 * Reads the changes to a tenant's files into the cache, so that the cache keeps only current contents. Drops the files
 * if they cannot be read.
 */
export async function refreshCache(database: Database, tenant: string, cache: TextCache): Promise<void> {
  try {
    await new CurrentFiles(database, tenant, cache).refresh();
  } catch {
    cache.forget(tenant);
  }
}

class CurrentFiles implements FileSource {
  readonly #database: Database;
  readonly #tenant: string;
  readonly #cache: TextCache;
  /** All files; undefined if the search reads the files page by page. */
  #known: Promise<readonly CachedFile[] | undefined> | undefined;
  #collected: Collected | undefined;

  constructor(database: Database, tenant: string, cache: TextCache) {
    this.#database = database;
    this.#tenant = tenant;
    this.#cache = cache;
  }

  async page(path: MemoryPath, after: string): Promise<SearchedFile[]> {
    this.#known ??= this.#load(path);
    const known = await this.#known;
    return known === undefined ? this.#read(path, after) : slicePage(known, path, after);
  }

  async read(paths: readonly MemoryPath[]): Promise<SearchedFile[]> {
    const known = await this.#known;
    if (known === undefined)
      return this.#query(searchFilesQuery, { tenant: this.#tenant, paths: [...paths] });
    return paths.flatMap((path) => {
      const file = known[indexAfter(known, path) - 1];
      return file?.path === path ? file : [];
    });
  }

  async has(path: MemoryPath, rights?: Rights): Promise<boolean> {
    if (path === ROOT) return true;
    const tenant = this.#tenant;
    if (!hidesPaths(rights)) return (await this.#query(findPathsQuery, { tenant, paths: [path] })).length > 0;
    const params = { tenant, path, maxEntries: 1, ...shownParams(rights) };
    const [row] = await this.#query(lookupShownQuery, params);
    return row !== undefined && row.kind !== null;
  }

  async refresh(): Promise<void> {
    const known = this.#cache.get(this.#tenant);
    if (known === undefined) return;
    const state = await this.#state();
    if (state === undefined) this.#cache.forget(this.#tenant);
    else this.#cache.update(this.#tenant, await this.#current(known, state));
  }

  async #query<Params extends Record<string, Value>, Row>(query: Query<Params, Row>, params: Params) {
    return (await runWithRetries(true, () => this.#database.query(query, params))).rows;
  }

  async #state(): Promise<string | undefined> {
    return (await this.#query(searchStateQuery, { tenant: this.#tenant }))[0]?.state;
  }

  async #load(path: MemoryPath): Promise<readonly CachedFile[] | undefined> {
    if (this.#cache.maxBytes === 0) return undefined;
    const known = this.#cache.get(this.#tenant);
    if (known === undefined && path !== ROOT) return undefined;
    const state = await this.#state();
    if (known === undefined) {
      this.#collected = { state, files: [], bytes: 0 };
      return undefined;
    }
    const memory = await this.#current(known, state);
    this.#cache.set(this.#tenant, memory);
    return memory.files;
  }

  /** Returns the current files after the tenant's state was read. */
  async #current(known: CachedMemory, state: string | undefined): Promise<CachedMemory> {
    if (state !== undefined && state === known.state) return known;
    const files = await this.#update(known.files);
    return { files, state: (await this.#state()) === state ? state : undefined };
  }

  /** Returns the current files. Reads contents only for files that changed. */
  async #update(known: readonly CachedFile[]): Promise<readonly CachedFile[]> {
    const tenant = this.#tenant;
    const files = new Map(known.map((file) => [file.path, file]));
    const current: string[] = [];
    let changed: string[] = [];
    let bytes = 0;
    const readChanged = async () => {
      for (const file of shareTexts(await this.#query(searchFilesQuery, { tenant, paths: changed })))
        files.set(file.path, file);
      changed = [];
      bytes = 0;
    };
    for (let after = ''; ; ) {
      const rows = await this.#query(searchVersionsQuery, { tenant, after, limit: VERSIONS_PAGE });
      for (const row of rows) {
        current.push(row.path);
        if (files.get(row.path)?.version === row.version) continue;
        // A file that is deleted before its content is read is not found.
        files.delete(row.path);
        if (changed.length === PAGE.files || (changed.length > 0 && bytes + row.bytes > PAGE.bytes))
          await readChanged();
        changed.push(row.path);
        bytes += row.bytes;
      }
      if (rows.length < VERSIONS_PAGE) break;
      after = rows.at(-1)?.path ?? after;
    }
    if (changed.length > 0) await readChanged();
    return current.flatMap((path) => files.get(path) ?? []);
  }

  /** Reads a page, and keeps its files for the cache if the search reads all files in order. */
  async #read(path: MemoryPath, after: string): Promise<SearchedFile[]> {
    const params = { tenant: this.#tenant, path, after, limit: PAGE.files, bytes: PAGE.bytes };
    const read = await this.#query(searchPageQuery, params);
    const collected = this.#collected;
    if (collected === undefined) return read;
    const page = shareTexts(read);
    collected.files.push(...page);
    for (const file of page) collected.bytes += bytesInMemory(file);
    const isInOrder = path === ROOT && after === (collected.files.at(-page.length - 1)?.path ?? '');
    if (!isInOrder || collected.bytes > this.#cache.maxBytes) this.#collected = undefined;
    else if (page.length === 0) await this.#keep(collected);
    return page;
  }

  async #keep({ files, state }: Collected): Promise<void> {
    this.#collected = undefined;
    if (files.length === 0) return;
    const isUnchanged = (await this.#state()) === state;
    this.#cache.set(this.#tenant, { files, state: isUnchanged ? state : undefined });
  }
}

interface Collected {
  state: string | undefined;
  files: CachedFile[];
  bytes: number;
}

/** Returns a page from the sorted files. */
function slicePage(files: readonly CachedFile[], path: MemoryPath, after: string): SearchedFile[] {
  const page: SearchedFile[] = [];
  let bytes = 0;
  for (let i = indexAfter(files, after); i < files.length && page.length < CACHED_PAGE.files; i++) {
    const file = files[i] as CachedFile;
    if (!isWithin(file.path, path)) continue;
    if (page.length > 0 && bytes >= CACHED_PAGE.bytes) break;
    bytes += file.bytes;
    page.push(file);
  }
  return page;
}

/** Finds the first file after a path by binary search, and returns its index. */
function indexAfter(files: readonly CachedFile[], after: string): number {
  let from = 0;
  let to = files.length;
  while (from < to) {
    const middle = (from + to) >> 1;
    if (compareCodePoints(files[middle]?.path ?? '', after) <= 0) from = middle + 1;
    else to = middle;
  }
  return from;
}

/**
 * Returns the files at a past time, in ISO 8601.
 *
 * @throws HistoryIncomplete (its methods) for a time before the complete history
 */
export function filesAt(database: Database, tenant: string, at: string): FileSource {
  const history = new History(database);
  return {
    page: async (path, after) => {
      for (let last = after; ; ) {
        const rows = await treePageAt(history, tenant, path, at, { after: last, limit: PAGE.files });
        const taken = takeRows(PAGE.bytes, rows);
        last = taken.at(-1)?.path ?? last;
        const files = await addContents(history, tenant, taken);
        // A page may contain only directories.
        if (files.length > 0 || taken.length === 0) return files;
      }
    },
    read: async (paths) => {
      const files: SearchedFile[] = [];
      for (const path of paths) {
        const rows = await treePageAt(history, tenant, path, at, { after: '', limit: 1 });
        files.push(...(await addContents(history, tenant, rows)));
      }
      return files;
    },
    has: async (path) => (await findAt(history, tenant, path, at)).kind !== 'missing',
  };
}

/** Returns the first entries with at most `max` bytes, but at least one entry. */
function takeRows(max: number, rows: readonly EntryRow[]): EntryRow[] {
  let sum = 0;
  return rows.filter(({ bytes }, i) => {
    sum += bytes ?? 0;
    return i === 0 || sum <= max;
  });
}

/** Returns the files among the entries with their contents. Versions that were deleted in the meantime are omitted. */
async function addContents(
  history: History,
  tenant: string,
  rows: readonly EntryRow[],
): Promise<SearchedFile[]> {
  const versions = rows.flatMap(({ versionId, memoryId, bytes, ...row }) =>
    versionId === null || memoryId === null ? [] : [{ ...row, versionId, memoryId, bytes: bytes ?? 0 }],
  );
  const contents = await history.contents(tenant, versions);
  return versions.flatMap(({ versionId, path, bytes, modified }) => {
    const content = contents.get(versionId);
    return content === undefined ? [] : [{ path, content, bytes, modified: Date.parse(modified) / 1000 }];
  });
}
