import { platform, setPriority } from 'node:os';
import { isMainThread } from 'node:worker_threads';
import { LRUCache } from 'lru-cache';
import { RE2JSException } from 're2js';
import { LineMatcher } from './match-lines.ts';
import { type WordCounts, WordMatcher } from './match-words.ts';
import { WordResults } from './results.ts';
import type { Scanned, ScannedLines } from './scanned.ts';
import type { FoundLine, Query, SearchedFile } from './search-query.ts';
import { receivedFiles, type SentPage } from './sent-page.ts';

/** A query, and files to search or to show. */
export interface Task {
  query: Query;
  page: SentPage;
  /** Remaining lines to return. Further lines are only counted. Only for `literal` and `regex`. */
  maxLines: number;
  /** Number of best files on the page whose best lines to return beside the counts. Only for `words`. */
  bestFiles: number;
  /** Whether to return each file's best lines instead of counts. Only for `words`. */
  wantsExcerpts?: boolean;
}

/** Niceness for a search thread. The event loop and its requests run first. */
const NICENESS = 5;
// On Linux, each thread has its own niceness.
if (!isMainThread && platform() === 'linux') setPriority(NICENESS);

/** One matcher per concurrent search. A search's pages share a matcher, and therefore its token cache. */
const MATCHERS = 4;
const matchers = new LRUCache<string, WordMatcher | LineMatcher>({ max: MATCHERS });

function findMatcher(query: Query): WordMatcher | LineMatcher {
  const key = JSON.stringify(query);
  const matcher =
    matchers.get(key) ??
    (query.mode === 'words' ? new WordMatcher(query.words, query.where) : new LineMatcher(query));
  matchers.set(key, matcher);
  return matcher;
}

/** Searches the files on a page, which may be empty. Runs in a search thread. */
export default function scan(task: Task): Scanned {
  try {
    return scanWith(findMatcher(task.query), task);
  } catch (error) {
    // Compiling an expression can take a second, so it happens in this thread instead of the main thread.
    if (!(error instanceof RE2JSException)) throw error;
    // RE2's error message for an invalid expression.
    return { kind: 'invalid_expression', problem: error.message.replace('error parsing regexp: ', '') };
  }
}

function scanWith(matcher: WordMatcher | LineMatcher, task: Task): Scanned {
  const files = receivedFiles(task.page);
  if (matcher instanceof LineMatcher) return scanLines(matcher, files, task.maxLines);
  if (task.wantsExcerpts) return { kind: 'excerpts', files: files.map((file) => matcher.findLines(file)) };
  const counts = matcher.count(files);
  return { kind: 'counts', counts, excerpts: findExcerpts(matcher, counts, files, task.bestFiles) };
}

/** Returns the best lines from a page's best files. */
function findExcerpts(
  matcher: WordMatcher,
  counts: WordCounts,
  files: SearchedFile[],
  count: number,
): [path: string, lines: FoundLine[]][] {
  if (count === 0) return [];
  const results = new WordResults(matcher.words);
  results.add({ kind: 'counts', counts, excerpts: [] }, files);
  const byPath = new Map(files.map((file) => [file.path, file]));
  return results
    .rankFiles()
    .slice(0, count)
    .flatMap(({ path }) => {
      const file = byPath.get(path);
      return file === undefined ? [] : [[path, matcher.findLines(file)]];
    });
}

function scanLines(matcher: LineMatcher, page: SearchedFile[], maxLines: number): ScannedLines {
  const scanned: ScannedLines = { kind: 'lines', files: [], furtherLines: 0, furtherFiles: 0 };
  let left = maxLines;
  for (const [file, each] of page.entries()) {
    const found = matcher.match(each, left);
    if (found === undefined) continue;
    const shown = Math.min(left, found.count);
    left -= shown;
    scanned.furtherLines += found.count - shown;
    if (shown > 0) scanned.files.push({ file, lines: found.lines });
    else scanned.furtherFiles++;
  }
  return scanned;
}
