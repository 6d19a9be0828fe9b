import { viewMissing } from '../../memory/messages.ts';
import { failure, type MemoryResult, success } from '../../memory/result.ts';
import type { FileSource } from './files.ts';
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
  noLiteral,
  noRegex,
  noWords,
  readSearchInput,
  type SearchRequest,
  tooMuchWork,
} from './input.ts';
import type { FoundFile, Where } from './query.ts';
import type { Found, MemorySearch } from './search.ts';

/** A line, or a path, that matches. */
export interface Match {
  path: string;
  /** Null when only the path matches. */
  line: number | null;
  text: string | null;
  /** Of the file: null in the modes whose order is that of the paths. */
  score: number | null;
}

/** What the model reads, and the same for programs. */
export interface SearchResult extends MemoryResult {
  matches: Match[];
  /** How many more files, or matches in the modes that go by path, there are. */
  more: number;
  /** What a failure is about, and what is wrong, for people as well. */
  failed?: { about: Failed; refusal: string };
}

type Failed = 'input' | 'path' | 'work';

export interface Search {
  /** The tenant that the search counts for (`countedAs`). */
  countedAs: string;
  files: FileSource;
  input: unknown;
  /** By default both. */
  where?: Where;
  /** The longest result, in UTF-16 units; 0: no limit. */
  maxChars: number;
  /** Is aborted when nobody waits for the result any more. */
  gone?: AbortSignal | undefined;
}

/** How many lines the best files are shown with; the others have one. */
const DETAILED_FILES = 3;
const DETAILED_LINES = 3;

/** Runs one call of `memory_search`, whatever its input is. @throws ServiceError, DatabaseError */
export async function runSearch(
  search: MemorySearch,
  { countedAs, files, input, where, maxChars, gone }: Search,
): Promise<SearchResult> {
  const read = readSearchInput(input, where);
  if (!read.ok) return invalid(read.refusal);
  return describe(await search.find(countedAs, files, read.request, gone), read.request, maxChars);
}

function invalid(refusal: string): SearchResult {
  return failed('input', `Error: ${refusal}`, refusal);
}

function failed(about: Failed, text: string, refusal = text): SearchResult {
  return { ...failure(text), matches: [], more: 0, failed: { about, refusal } };
}

function describe(found: Found, { path, query, maxResults }: SearchRequest, maxChars: number): SearchResult {
  switch (found.kind) {
    case 'missing':
      return failed('path', viewMissing(path));
    case 'invalid_expression':
      return invalid(invalidExpression(found.problem));
    case 'too_much_work':
      return failed('work', `Error: ${tooMuchWork}`, tooMuchWork);
    case 'words':
    case 'lines': {
      const matches = matchesOf(found).slice(0, maxResults);
      if (matches.length > 0) return listed(headerOf(found, path), matches, found, maxChars);
      const nothing = { words: noWords, literal: noLiteral, regex: noRegex }[query.mode];
      const content = found.searched === 0 ? noFiles(path) : nothing(found.searched, path);
      return { ...success(content), matches, more: 0 };
    }
  }
}

type Matching = Extract<Found, { searched: number }>;

/** All known matches, in display order. */
function matchesOf(found: Matching): Match[] {
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

function headerOf(found: Matching, path: string): string {
  if (found.kind === 'lines') {
    const shown = matchesOf(found).length;
    return foundMatches(shown + found.furtherLines, found.files.length + found.furtherFiles, path);
  }
  const { withAll, withSome } = found;
  if (withAll === 0) return foundOnlySome(withSome, path);
  return withSome === 0 ? foundFiles(withAll, path) : foundAlsoSome(withAll, withSome, path);
}

/** How many files, or matches, are not among those shown. */
function moreThan(found: Matching, shown: readonly Match[]): number {
  if (found.kind === 'lines') return matchesOf(found).length + found.furtherLines - shown.length;
  return found.withAll + found.withSome - new Set(shown.map(({ path }) => path)).size;
}

/** Lists matches, at least one, and leaves out the last ones when the text would be too long. */
function listed(header: string, matches: Match[], found: Matching, maxChars: number): SearchResult {
  const hint = found.kind === 'words' ? moreFiles : moreMatches;
  const lines = matches.map(({ path, line, text }) =>
    line === null ? matchingPath(path) : matchingLine(path, line, text ?? ''),
  );
  for (let shown = lines.length; ; shown--) {
    const kept = matches.slice(0, shown);
    const more = moreThan(found, kept);
    const content = [header, ...lines.slice(0, shown), ...(more === 0 ? [] : [hint(more)])].join('\n');
    if (shown === 1 || maxChars === 0 || content.length <= maxChars) {
      return { ...success(content), matches: kept, more };
    }
  }
}
