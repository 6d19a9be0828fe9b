import { platform, setPriority } from 'node:os';
import { isMainThread } from 'node:worker_threads';
import { withoutPause } from '../../core/lib/time-slice.ts';
import { findOccurrences, lineNumbersAt } from '../../core/memory/text-changes.ts';
import { cutExcerpt } from '../search/excerpt.ts';
import { LineMatcher } from '../search/match-lines.ts';
import { WordMatcher } from '../search/match-words.ts';
import type { Query, SearchedFile, Where } from '../search/search-query.ts';
import { containsText, searchSteps, soughtUnits } from './compared-text.ts';

/** A text that is compared in its normal form, or a search query. */
export type FindQuery = Query | { mode: 'normalized'; text: string; where: Where };

/** A file version, or a directory without a content. */
export interface ScannedRow {
  /** Null for a deletion, a redacted version, or a directory. */
  content: string | null;
  /** Both null if `content` is complete. Otherwise, `content` is the reverse splice of the row before. */
  spliceStart: number | null;
  spliceLength: number | null;
  path: string | null;
  /** Whether the row belongs to the same file as the row before. */
  continues: boolean;
  searchesContent: boolean;
  searchesPath: boolean;
}

export interface ScanTask {
  query: FindQuery;
  rows: ScannedRow[];
  /** Content of the version before the first row, in UTF-8, if the first row belongs to the same file. */
  newer: Uint8Array | null;
  /** Whether to rebuild the contents without searching them. */
  skips: boolean;
}

/** A match in a row. A row has at most one match in its content, and one in its path. */
export interface RowMatch {
  row: number;
  in: 'content' | 'path';
  /** The first matching line's number or, for words, the best line's number. Null for a path. */
  line: number | null;
  /** The excerpt's offset in the line. */
  from: number;
  /** Number of matching lines. A match by words counts as one. */
  lines: number;
}

export interface ScanResult {
  matches: RowMatch[];
  /** Number of contents and paths that should have been searched and were not. */
  unsearched: number;
  /** The last row's content. */
  newer: Uint8Array | null;
}

/** The thread's niceness. The event loop and its requests run first. */
const NICENESS = 10;
// On Linux, each thread has its own niceness.
if (!isMainThread && platform() === 'linux') setPriority(NICENESS);

type Matcher = (file: SearchedFile) => { line: number; from: number; lines: number } | undefined;

let compiled: { key: string; inContent: Matcher; inPath: Matcher; bytes: Buffer | undefined } | undefined;

/** Compiles the query, unless the page before had the same query. */
function compileMatchers(query: FindQuery) {
  const key = JSON.stringify(query);
  if (compiled?.key !== key) {
    const isExact = query.mode === 'literal' && !query.ignoresCase;
    compiled = {
      key,
      inContent: createMatcher({ ...query, where: 'content' }),
      inPath: createMatcher({ ...query, where: 'path' }),
      bytes: isExact ? Buffer.from(query.text) : undefined,
    };
  }
  return compiled;
}

function createMatcher(query: FindQuery): Matcher {
  if (query.mode === 'words') {
    const matcher = new WordMatcher(query.words, query.where);
    return (file) => {
      const { files, best } = matcher.count([file]);
      if (files.length === 0 || best.includes(0)) return undefined;
      return { line: 1, from: 0, ...matcher.findLines(file)[0], lines: 1 };
    };
  }
  if (query.mode === 'normalized') return normalizedMatcher(query);
  const matcher = new LineMatcher(query);
  return (file) => {
    const found = matcher.match(file, 1);
    return found && { line: 1, from: 0, ...found.lines[0], lines: found.count };
  };
}

function normalizedMatcher({ text, where }: { text: string; where: Where }): Matcher {
  const sought = { text, isExact: false, ignoresCase: false };
  if (where === 'path')
    return ({ path }) => (containsText(path, sought) ? { line: 1, from: 0, lines: 1 } : undefined);
  return ({ content: given }) => {
    const content = String(given);
    const compared = withoutPause(searchSteps(content, sought));
    if (compared === undefined) return undefined;
    const offsets = findOccurrences(soughtUnits(sought), compared.units).map(compared.originStart);
    const lines = lineNumbersAt(content, offsets);
    const [line = 1] = lines;
    const [offset = 0] = offsets;
    const column = offset - (content.lastIndexOf('\n', offset - 1) + 1);
    return { line, from: cutExcerpt(content, line, () => column).from, lines: new Set(lines).size };
  };
}

/** Rebuilds the contents in a page of versions, newest first, and searches them. Runs in a thread. */
export default function scan({ query, rows, newer, skips }: ScanTask): ScanResult {
  const { inContent, inPath, bytes } = compileMatchers(query);
  const result: ScanResult = { matches: [], unsearched: 0, newer: null };
  let content = newer && Buffer.from(newer.buffer, newer.byteOffset, newer.byteLength);
  for (const [row, each] of rows.entries()) {
    const isBroken = each.spliceStart !== null && (!each.continues || content === null);
    content = isBroken ? null : rebuildContent(each, content);
    if (each.searchesContent && each.content !== null) {
      if (isBroken || content === null || skips) result.unsearched++;
      else if (bytes === undefined || content.includes(bytes)) {
        const found = inContent(toSearchedFile(each.path ?? '', content.toString(), content.length));
        if (found)
          result.matches.push({ row, in: 'content', line: found.line, from: found.from, lines: found.lines });
      }
    }
    if (!each.searchesPath || each.path === null) continue;
    if (skips) result.unsearched++;
    else if (inPath(toSearchedFile(each.path, '', 0)))
      result.matches.push({ row, in: 'path', line: null, from: 0, lines: 1 });
  }
  result.newer = content;
  return result;
}

function rebuildContent(
  { content, spliceStart, spliceLength }: ScannedRow,
  newer: Buffer | null,
): Buffer | null {
  if (content === null) return null;
  if (spliceStart === null || spliceLength === null || newer === null) return Buffer.from(content);
  const replaced = Buffer.from(content);
  return Buffer.concat([
    newer.subarray(0, spliceStart),
    replaced,
    newer.subarray(spliceStart + spliceLength),
  ]);
}

function toSearchedFile(path: string, content: string, bytes: number): SearchedFile {
  return { path, content, bytes, modified: 0 };
}
