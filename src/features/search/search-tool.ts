import { viewMissing } from '../../core/memory/messages.ts';
import { failure, type MemoryResult, success } from '../../core/memory/result.ts';
import type { FileSource } from './file-source.ts';
import {
  foundAlsoSome,
  foundFiles,
  foundMatches,
  foundOnlySome,
  invalidExpression,
  matchingLine,
  matchingPath,
  moreFiles,
  moreMatches,
  noFiles,
  noMatches,
  readSearchInput,
  type SearchRequest,
  tooMuchWork,
} from './input.ts';
import type { Found } from './results.ts';
import type { MemorySearch } from './search.ts';
import type { FoundFile, Where } from './search-query.ts';

/** A matching line or path. */
export interface Match {
  path: string;
  /** Null if only the path matches. */
  line: number | null;
  text: string | null;
  /** File score; null in the modes that sort by path. */
  score: number | null;
}

/** Result text for the model, with the same matches as structured data. */
export interface SearchResult extends MemoryResult {
  matches: Match[];
  /** Number of further files, or further matches in the modes that sort by path. */
  more: number;
  /** Failure kind, and its description for models and people. */
  failed?: { about: Failed; rejection: string };
}

type Failed = 'input' | 'path' | 'work';

export interface Search {
  /** Tenant for which the search counts (`countedAs`). */
  countedAs: string;
  files: FileSource;
  input: unknown;
  /** `both` by default. */
  where?: Where;
  /** Maximum result length in UTF-16 units; 0 means no limit. */
  maxChars: number;
  /** Aborted when the client disconnects. */
  gone?: AbortSignal | undefined;
}

/** Number of best files that are shown with `DETAILED_LINES` lines. Other files are shown with one line. */
const DETAILED_FILES = 3;
const DETAILED_LINES = 3;

/** Runs one `memory_search` call, with valid or invalid input. @throws ServiceError, DatabaseError */
export async function runSearch(
  search: MemorySearch,
  { countedAs, files, input, where, maxChars, gone }: Search,
): Promise<SearchResult> {
  const read = readSearchInput(input, where);
  if (!read.ok) return invalid(read.rejection);
  return describe(await search.find(countedAs, files, read.request, gone), read.request, maxChars);
}

function invalid(rejection: string): SearchResult {
  return failureResult('input', `Error: ${rejection}`, rejection);
}

function failureResult(about: Failed, text: string, rejection = text): SearchResult {
  return { ...failure(text), matches: [], more: 0, failed: { about, rejection } };
}

function describe(found: Found, { path, query, maxResults }: SearchRequest, maxChars: number): SearchResult {
  switch (found.kind) {
    case 'missing':
      return failureResult('path', viewMissing(path));
    case 'invalid_expression':
      return invalid(invalidExpression(found.problem));
    case 'too_much_work':
      return failureResult('work', `Error: ${tooMuchWork}`, tooMuchWork);
    case 'words':
    case 'lines': {
      const matches = listMatches(found).slice(0, maxResults);
      if (matches.length > 0) return matchesResult(resultHeader(found, path), matches, found, maxChars);
      const content = found.searched === 0 ? noFiles(path) : noMatches(query.mode, found.searched, path);
      return { ...success(content), matches, more: 0 };
    }
  }
}

type Matching = Extract<Found, { searched: number }>;

/** Returns all known matches, in display order. */
function listMatches(found: Matching): Match[] {
  if (found.kind === 'lines') return found.files.flatMap((file) => matchesIn(file, file.lines.length, null));
  return found.files.flatMap((file, i) =>
    matchesIn(file, i < DETAILED_FILES ? DETAILED_LINES : 1, Math.round(file.score * 1000) / 1000),
  );
}

function matchesIn({ path, lines }: FoundFile, maxLines: number, score: number | null): Match[] {
  if (lines.length === 0) return [{ path, line: null, text: null, score }];
  return lines
    .slice(0, maxLines)
    .sort((one, other) => one.line - other.line)
    .map(({ line, text }) => ({ path, line, text, score }));
}

function resultHeader(found: Matching, path: string): string {
  if (found.kind === 'lines') {
    const shown = listMatches(found).length;
    return foundMatches(shown + found.furtherLines, found.files.length + found.furtherFiles, path);
  }
  const { withAll, withSome } = found;
  if (withAll === 0) return foundOnlySome(withSome, path);
  return withSome === 0 ? foundFiles(withAll, path) : foundAlsoSome(withAll, withSome, path);
}

/** Counts the files, or matches, that are not shown. */
function countHidden(found: Matching, shown: readonly Match[]): number {
  if (found.kind === 'lines') return listMatches(found).length + found.furtherLines - shown.length;
  return found.withAll + found.withSome - new Set(shown.map(({ path }) => path)).size;
}

/** Lists at least one match, and omits the last matches if the text would be too long. */
function matchesResult(header: string, matches: Match[], found: Matching, maxChars: number): SearchResult {
  const hint = found.kind === 'words' ? moreFiles : moreMatches;
  const lines = matches.map(({ path, line, text }) =>
    line === null ? matchingPath(path) : matchingLine(path, line, text ?? ''),
  );
  for (let shown = lines.length; ; shown--) {
    const kept = matches.slice(0, shown);
    const more = countHidden(found, kept);
    const content = [header, ...lines.slice(0, shown), ...(more === 0 ? [] : [hint(more)])].join('\n');
    if (shown === 1 || maxChars === 0 || content.length <= maxChars) {
      return { ...success(content), matches: kept, more };
    }
  }
}
