import { ServiceError } from '../../core/errors/errors.ts';
import type { FeatureService, Services } from '../../core/files/services.ts';
import { WorkerThreads } from '../../core/lib/worker-threads.ts';
import type { MemoryPath } from '../../core/memory/path.ts';
import { RequestLimiter } from '../../core/tenants/request-limiter.ts';
import { type FileSource, refreshCache } from './file-source.ts';
import type { SearchRequest } from './input.ts';
import type { RankedFile } from './rank.ts';
import { type Found, LineResults, type ShownFile, WordResults } from './results.ts';
import type { Task } from './scan.ts';
import type { Scanned } from './scanned.ts';
import type { FoundLine, SearchedFile } from './search-query.ts';
import { sentPage } from './sent-page.ts';
import { TextCache } from './text-cache.ts';

/** Limit on concurrent searches, at most one per tenant. Each search holds up to three pages in memory. */
const MAX_CONCURRENT = 4;
/** Limit on searches that may use two threads each. */
const PARALLEL = 2;
const MAX_WAITING = 1000;
const DEADLINE_MS = 10_000;
/**
 * Heap limit for a search thread. Pages need far less; only files with many megabytes or huge expressions approach the
 * limit.
 */
const MAX_HEAP_MIB = 128;
/** Maximum size for the files whose lines a thread shows together. */
const MAX_SHOWN_BYTES = 2 ** 21;

/** Searches a tenant's files. The search engine for the tool, the admin API, and the CLI. */
export class MemorySearch implements FeatureService {
  /** A search does not wait for another search's pages, because each search has a thread. */
  readonly #threads = new WorkerThreads<Task, Scanned>({
    module: new URL('./scan', import.meta.url),
    threads: MAX_CONCURRENT + PARALLEL,
    idleMs: 10 * 60_000,
    maxHeapMiB: MAX_HEAP_MIB,
  });
  readonly #turns = new RequestLimiter({
    total: MAX_CONCURRENT,
    perKey: 1,
    maxWaiting: MAX_WAITING,
    maxWaitMs: DEADLINE_MS,
  });

  /** Current files for tenants that were searched recently. */
  readonly texts: TextCache;
  #running = 0;
  readonly #startDeadline: () => AbortSignal;

  /**
   * @param texts files that are kept between searches; by default none
   * @param startDeadline called when a search starts; its signal ends the search
   */
  constructor(texts = new TextCache(0), startDeadline = () => AbortSignal.timeout(DEADLINE_MS)) {
    this.texts = texts;
    this.#startDeadline = startDeadline;
  }

  /**
   * @param countedAs tenant for which one search runs at a time
   * @param gone signal that is aborted when the client disconnects
   * @throws ServiceError 429 or 503 when the tenant or the service already runs too many searches, 499 after `gone`
   * @throws DatabaseError
   */
  async find(
    countedAs: string,
    files: FileSource,
    request: SearchRequest,
    gone?: AbortSignal,
  ): Promise<Found> {
    const search = async (): Promise<Found> => {
      const deadline = this.#startDeadline();
      const ended = new AbortController();
      this.#running++;
      try {
        return await this.#search(files, request, AbortSignal.any([deadline, ended.signal]), gone);
      } catch (error) {
        if (deadline.aborted || error instanceof TooMuchWork) return { kind: 'too_much_work' };
        throw error;
      } finally {
        this.#running--;
        // Ends page scans whose results are not needed anymore.
        ended.abort();
      }
    };
    return this.#turns.run(countedAs, search, gone);
  }

  async #search(
    files: FileSource,
    { path, query, maxResults }: SearchRequest,
    signal: AbortSignal,
    gone: AbortSignal | undefined,
  ): Promise<Found> {
    const results =
      query.mode === 'words' ? new WordResults(query.words.length) : new LineResults(maxResults);
    /** Best lines in the first page's best files, by path. A small memory needs no further task for its lines. */
    const known = new Map<string, FoundLine[]>();
    const pending: { page: SearchedFile[]; scan: Promise<Scanned> }[] = [];
    /** Adds the results from the first pending page, or returns the reason why the search fails. */
    const addFirst = async (): Promise<Found | undefined> => {
      const first = pending.shift();
      const scanned = await first?.scan;
      if (first === undefined || scanned === undefined) return undefined;
      if (scanned.kind === 'invalid_expression') return scanned;
      if (scanned.kind === 'counts') for (const [path, lines] of scanned.excerpts) known.set(path, lines);
      results.add(scanned, first.page);
      return undefined;
    };
    let searched = 0;
    // A memory without files has one empty page, so that an expression is always validated.
    for (let page = await files.page(path, ''); page.length > 0 || searched === 0; ) {
      const last = page.at(-1);
      // Prefetched while this page is searched. The page is awaited only if the search continues.
      const next = last && files.page(path, last.path);
      next?.catch(() => {});
      signal.throwIfAborted();
      if (gone?.aborted) throw new ServiceError('client_gone');
      const bestFiles = searched === 0 && query.mode === 'words' ? maxResults : 0;
      searched += page.length;
      const scan = this.#scan({ query, page: sentPage(page), maxLines: results.maxLines, bestFiles }, signal);
      scan.catch(() => {});
      pending.push({ page, scan });
      while (pending.length >= (this.#running <= PARALLEL ? 2 : 1)) {
        const failed = await addFirst();
        if (failed !== undefined) return failed;
      }
      if (next === undefined) break;
      page = await next;
    }
    while (pending.length > 0) {
      const failed = await addFirst();
      if (failed !== undefined) return failed;
    }
    if (searched === 0 && !(await files.has(path))) return { kind: 'missing' };
    if (results instanceof LineResults) return results.toFound();
    const shown = results.rankFiles().slice(0, maxResults);
    const others = shown.filter(({ path }) => !known.has(path));
    const lines = new Map([...known, ...(await this.#excerpts(query, others, files, signal))]);
    return results.toFound(shown.flatMap((file) => addLines(file, lines.get(file.path)) ?? []));
  }

  /** Returns the best lines in files, by path. A file that was deleted in the meantime is missing. */
  async #excerpts(
    query: SearchRequest['query'],
    best: readonly RankedFile[],
    files: FileSource,
    signal: AbortSignal,
  ): Promise<Map<string, FoundLine[]>> {
    const lines = new Map<string, FoundLine[]>();
    for (const paths of splitIntoBlocks(best)) {
      const page = await files.read(paths);
      const task = { query, page: sentPage(page), maxLines: 0, bestFiles: 0, wantsExcerpts: true };
      const scanned = await this.#scan(task, signal);
      if (scanned.kind !== 'excerpts') throw new Error(`The thread returned ${scanned.kind}.`);
      for (const [i, { path }] of page.entries()) lines.set(path, scanned.files[i] ?? []);
    }
    return lines;
  }

  async #scan(task: Task, signal: AbortSignal): Promise<Scanned> {
    const scanned = await this.#threads.run(task, signal);
    if (scanned === 'out_of_memory') throw new TooMuchWork();
    return scanned;
  }

  forget(tenant: string): void {
    this.texts.forget(tenant);
  }

  close(): Promise<void> {
    this.texts.clear();
    return this.#threads.close();
  }
}

/** Creates a process's search engine, for `Services.of`. */
export function memorySearch({ config, database, watches }: Services): MemorySearch {
  const texts: TextCache = new TextCache(config.SEARCH_CACHE_BYTES, (tenant) =>
    watches.follow(tenant, () => refreshCache(database, tenant, texts)),
  );
  return new MemorySearch(texts);
}

/** Splits files into blocks with at most `MAX_SHOWN_BYTES`, and returns each block's paths. */
function splitIntoBlocks(files: readonly RankedFile[]): MemoryPath[][] {
  const blocks: MemoryPath[][] = [];
  let bytes = Number.POSITIVE_INFINITY;
  for (const file of files) {
    bytes += file.bytes;
    if (bytes > MAX_SHOWN_BYTES) {
      blocks.push([]);
      bytes = file.bytes;
    }
    blocks.at(-1)?.push(file.path as MemoryPath);
  }
  return blocks;
}

/** Returns a file with its lines; undefined if the file does not match anymore after a write beside the search. */
function addLines(file: RankedFile, lines: FoundLine[] | undefined): ShownFile | undefined {
  const matches = lines !== undefined && (lines.length > 0 || file.inPath.some((count) => count > 0));
  return matches ? { path: file.path, score: file.score, lines } : undefined;
}

/** Thrown when a thread exceeds its memory. */
class TooMuchWork extends Error {}
