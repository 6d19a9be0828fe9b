import { platform, setPriority } from 'node:os';
import { isMainThread } from 'node:worker_threads';
import { LRUCache } from 'lru-cache';
import { RE2JSException } from 're2js';
import { LineMatcher, type LinesFile } from './match-lines.ts';
import { WordMatcher, type WordsFile } from './match-words.ts';
import type { Query, SearchedFile } from './query.ts';
import { logLength } from './rank.ts';

/** A query, and the page of files to search. */
export interface Task {
  query: Query;
  page: SearchedFile[];
  /** Remaining number of lines to return. Further lines are only counted. */
  maxLines: number;
}

export interface Scanned {
  /** Sum of `logLength` of the files of the page. */
  logLengths: number;
  /** Files that contain words of the query. */
  words: WordsFile[];
  /** Files with lines to show. */
  lines: LinesFile[];
  /** Number of matching lines, and of files whose path matches, that are not shown. */
  furtherLines: number;
  /** Number of files with such matches that are not in `lines`. */
  furtherFiles: number;
}

/** RE2's error message for an invalid expression. */
export interface InvalidExpression {
  problem: string;
}

/** Niceness of a search thread. The event loop and its requests run first. */
const NICENESS = 5;
// On Linux, each thread has its own niceness.
if (!isMainThread && platform() === 'linux') setPriority(NICENESS);

/** One matcher per concurrent search. The pages of a search share a matcher, and therefore its cache of tokens. */
const MATCHERS = 4;
const matchers = new LRUCache<string, WordMatcher | LineMatcher>({ max: MATCHERS });

function matcherOf(query: Query): WordMatcher | LineMatcher {
  const key = JSON.stringify(query);
  const matcher =
    matchers.get(key) ??
    (query.mode === 'words' ? new WordMatcher(query.words, query.where) : new LineMatcher(query));
  matchers.set(key, matcher);
  return matcher;
}

/** Searches the files of a page, which may be empty. Runs in a search thread. */
export default function scan(task: Task): Scanned | InvalidExpression {
  try {
    return scanWith(matcherOf(task.query), task);
  } catch (error) {
    // Compiling an expression can take a second, so it happens in this thread instead of the main thread.
    if (!(error instanceof RE2JSException)) throw error;
    return { problem: error.message.replace('error parsing regexp: ', '') };
  }
}

function scanWith(matcher: WordMatcher | LineMatcher, { page, maxLines }: Task): Scanned {
  const scanned: Scanned = { logLengths: 0, words: [], lines: [], furtherLines: 0, furtherFiles: 0 };
  for (const file of page) scanned.logLengths += logLength(file);
  if (matcher instanceof WordMatcher) {
    scanned.words = page.flatMap((file) => matcher.match(file) ?? []);
    return scanned;
  }
  let left = maxLines;
  for (const file of page) {
    const found = matcher.match(file, left);
    if (found === undefined) continue;
    const shown = Math.min(left, found.count);
    left -= shown;
    scanned.furtherLines += found.count - shown;
    if (shown > 0) scanned.lines.push(found);
    else scanned.furtherFiles++;
  }
  return scanned;
}
