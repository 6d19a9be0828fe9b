import { ServiceError } from '../../errors/errors.ts';
import { WorkerThreads } from '../../lib/worker-threads.ts';
import { RequestLimiter } from '../../tenants/request-limiter.ts';
import type { FileSource } from './files.ts';
import type { SearchRequest } from './input.ts';
import type { LinesFile } from './match-lines.ts';
import type { WordsFile } from './match-words.ts';
import { type Corpus, type RankedFile, rank } from './rank.ts';
import type { InvalidExpression, Scanned, Task } from './scan.ts';
import { TextCache } from './text-cache.ts';

/** Maximum number of concurrent searches, at most one per tenant. Each search holds up to three pages in memory. */
const AT_ONCE = 4;
/** Maximum number of searches that may use two threads each. */
const PARALLEL = 2;
const MAX_WAITING = 1000;
const DEADLINE_MS = 10_000;
/**
 * Heap limit of a search thread. Pages need far less; only files of many megabytes or huge expressions approach the
 * limit.
 */
const MAX_HEAP_MIB = 128;
/** Number of best files that a word search keeps. */
const MAX_KEPT = 1000;

/** Outcome of a search. */
export type Found =
  | { kind: 'words'; files: RankedFile[]; withAll: number; withSome: number; searched: number }
  | { kind: 'lines'; files: LinesFile[]; furtherLines: number; furtherFiles: number; searched: number }
  | { kind: 'missing' }
  | { kind: 'invalid_expression'; problem: string }
  | { kind: 'too_much_work' };

/** Searches the files of a tenant. The search engine of the tool, the admin API, and the CLI. */
export class MemorySearch {
  /** A search does not wait for the pages of another search, because each has a thread. */
  readonly #threads = new WorkerThreads<Task, Scanned | InvalidExpression>({
    module: new URL('./scan', import.meta.url),
    threads: AT_ONCE + PARALLEL,
    idleMs: 10 * 60_000,
    maxHeapMiB: MAX_HEAP_MIB,
  });
  readonly #turns = new RequestLimiter({
    total: AT_ONCE,
    perKey: 1,
    maxWaiting: MAX_WAITING,
    maxWaitMs: DEADLINE_MS,
  });

  /** Current files of tenants that were searched recently. */
  readonly texts: TextCache;
  #running = 0;
  readonly #startDeadline: () => AbortSignal;

  /**
   * @param cacheBytes maximum size of the files that are kept between searches
   * @param startDeadline called at the start of a search; its signal ends the search
   */
  constructor(cacheBytes = 0, startDeadline = () => AbortSignal.timeout(DEADLINE_MS)) {
    this.texts = new TextCache(cacheBytes);
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
    const { path, query, maxResults } = request;
    const search = async (): Promise<Found> => {
      const deadline = this.#startDeadline();
      const ended = new AbortController();
      const signal = AbortSignal.any([deadline, ended.signal]);
      const results =
        query.mode === 'words' ? new WordResults(query.words.length) : new LineResults(maxResults);
      const pending: PendingPage[] = [];
      /** Adds the results of the first pending page, or returns the reason why the search fails. */
      const addFirst = async (): Promise<Found | undefined> => {
        const first = pending.shift();
        const scanned = await first?.scanned;
        if (first === undefined || scanned === undefined) return undefined;
        if (scanned === 'out_of_memory') return { kind: 'too_much_work' };
        if ('problem' in scanned) return { kind: 'invalid_expression', ...scanned };
        results.add(scanned, first.files);
        return undefined;
      };
      let searched = 0;
      this.#running++;
      try {
        // A memory without files has one empty page, so that an expression is always validated.
        for (let page = await files.page(path, ''); page.length > 0 || searched === 0; ) {
          const last = page.at(-1);
          // Prefetched while this page is searched. The page is awaited only if the search continues.
          const next = last && files.page(path, last.path);
          next?.catch(() => {});
          deadline.throwIfAborted();
          if (gone?.aborted) throw new ServiceError('client_gone');
          searched += page.length;
          const scanned = this.#threads.run({ query, page, maxLines: results.maxLines }, signal);
          scanned.catch(() => {});
          pending.push({ files: page.length, scanned });
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
        return results.found(searched);
      } catch (error) {
        if (deadline.aborted) return { kind: 'too_much_work' };
        throw error;
      } finally {
        this.#running--;
        if (pending.length > 0) ended.abort();
      }
    };
    return this.#turns.run(countedAs, search, gone);
  }

  close(): Promise<void> {
    this.texts.clear();
    return this.#threads.close();
  }
}

/** A page that a thread searches. */
interface PendingPage {
  files: number;
  scanned: Promise<Scanned | InvalidExpression | 'out_of_memory'>;
}

/** Keeps the best files, and counts all files. */
class WordResults {
  readonly maxLines = 0;
  readonly #frequencies: number[];
  #files: WordsFile[] = [];
  #logLengths = 0;
  #searched = 0;
  #withAll = 0;
  #withSome = 0;

  constructor(words: number) {
    this.#frequencies = new Array<number>(words).fill(0);
  }

  add({ words, logLengths }: Scanned, searched: number): void {
    this.#logLengths += logLengths;
    this.#searched += searched;
    for (const file of words) {
      for (const [word, best] of file.best.entries())
        this.#frequencies[word] = (this.#frequencies[word] ?? 0) + best;
      if (file.best.every((best) => best > 0)) this.#withAll++;
      else this.#withSome++;
    }
    this.#files.push(...words);
    if (this.#files.length > 2 * MAX_KEPT) this.#files = this.#ranked().slice(0, MAX_KEPT);
  }

  found(searched: number): Found {
    const counts = { withAll: this.#withAll, withSome: this.#withSome, searched };
    return { kind: 'words', files: this.#ranked(), ...counts };
  }

  #ranked(): RankedFile[] {
    const corpus: Corpus = {
      files: this.#searched,
      logLengths: this.#logLengths,
      frequencies: this.#frequencies,
    };
    return rank(this.#files, corpus, Date.now() / 1000);
  }
}

/** Keeps the first lines, and counts the other lines. */
class LineResults {
  maxLines: number;
  readonly #files: LinesFile[] = [];
  #furtherLines = 0;
  #furtherFiles = 0;

  constructor(maxLines: number) {
    this.maxLines = maxLines;
  }

  add({ lines, furtherLines, furtherFiles }: Scanned): void {
    this.#furtherLines += furtherLines;
    this.#furtherFiles += furtherFiles;
    for (const file of lines) {
      // A page that was searched beside the page before may have more lines than are left.
      const found = Math.max(1, file.lines.length);
      const shown = Math.min(this.maxLines, found);
      this.#furtherLines += found - shown;
      this.maxLines -= shown;
      if (shown > 0) this.#files.push({ ...file, lines: file.lines.slice(0, shown) });
      else this.#furtherFiles++;
    }
  }

  found(searched: number): Found {
    const further = { furtherLines: this.#furtherLines, furtherFiles: this.#furtherFiles };
    return { kind: 'lines', files: this.#files, ...further, searched };
  }
}
