import { z } from 'zod';
import { amount } from '../../core/lib/units.ts';
import {
  firstProblem,
  integerField,
  pathField,
  textField,
  wrongType,
} from '../../core/memory/commands/memory-command.ts';
import { fieldProblemText, pathProblemText } from '../../core/memory/messages.ts';
import { type MemoryPath, parsePath, ROOT } from '../../core/memory/path.ts';
import { DEFAULT_MODE, describeModes, LINE_MODES, MODE_NAMES, MODES, type Mode, modes } from './modes.ts';
import { DEFAULT_RESULTS, MAX_QUERY_LENGTH, MAX_RESULTS, type Query, type Where } from './search-query.ts';
import { queryWords } from './words.ts';

/* Result strings for `memory_search`, defined in docs/contract.md. */

export const foundFiles = (files: number, path: string) =>
  `Found ${amount(files, 'file')} in ${path}, the best first:`;
export const foundAlsoSome = (all: number, some: number, path: string) =>
  `Found ${amount(all, 'file')} in ${path} with all of the words, and ${some} with some of them, the best first:`;
export const foundOnlySome = (some: number, path: string) =>
  `No file in ${path} has all of the words. Found ${amount(some, 'file')} with some of them, the best first:`;
export const foundMatches = (matches: number, files: number, path: string) =>
  `Found ${amount(matches, 'match', 'matches')} in ${amount(files, 'file')} in ${path}:`;

export const matchingLine = (path: string, line: number, text: string) => `${path}:${line}: ${text}`;
export const matchingPath = (path: string) => `${path} (the path matches)`;

export const moreFiles = (files: number) =>
  `[${files === 1 ? '1 more file matches' : `${files} more files match`}. Use more specific words, or search a directory with \`path\`.]`;
export const moreMatches = (matches: number) =>
  `[${matches === 1 ? '1 more match' : `${matches} more matches`}. Use a more specific query, or search a directory with \`path\`.]`;

export const noFiles = (path: string) => `There are no files in ${path}.`;
export const noMatches = (mode: Mode, files: number, path: string) =>
  `Nothing matches in ${path} (${amount(files, 'file')} searched). ${MODES[mode].hint(path)}`;

// Errors for invalid input, for models and for people. A model reads them after `Error: `.

const invalidQuery = (why: string) => `Invalid \`query\` parameter: ${why}`;
export const emptyQuery = invalidQuery('it must not be empty');
export const queryTooLong = (length: number, limit: number) =>
  invalidQuery(`it has ${length} characters, and ${limit} are allowed`);
export const queryWithoutWords = invalidQuery(
  'it has no words. Use mode literal to search for other characters',
);
export const invalidExpression = (why: string) =>
  invalidQuery(`it is not a regular expression in RE2 syntax: ${why}`);
export const invalidMaxResults = (given: number, limit: number) =>
  `Invalid \`max_results\` parameter: ${given}. It should be from 1 to ${limit}`;
export const unknownMode = `must be ${MODE_NAMES}`;

export const tooMuchWork =
  'The search takes too much time. Search a directory with `path`, or use a simpler query.';

/** Tool name. Calls with this name arrive as `tool_use` blocks. */
export const SEARCH_TOOL = 'memory_search';

/** A match as structured data. */
export const foundSchema = z
  .object({
    path: z.string(),
    line: z.int().nullable().meta({ description: 'From 1; null when only the path matches.' }),
    text: z.string().nullable().meta({ description: 'The line; if it is long, only a part.' }),
    score: z
      .number()
      .nullable()
      .meta({
        description: `The file's score; higher is better. Null in the modes ${LINE_MODES}, which sort by path.`,
      }),
  })
  .meta({ id: 'SearchMatch' });

/** Input for `memory_search`. OpenAPI includes this schema. */
export const searchSchema = z.object({
  query: textField('The text or pattern to search for.', 'staging database password'),
  mode: z
    .enum(modes, { error: wrongType(unknownMode) })
    .nullish()
    .meta({ description: describeModes('search', DEFAULT_MODE) }),
  path: pathField(
    'The directory or file to search: all of /memories by default.',
    '/memories/projects',
  ).nullish(),
  max_results: integerField(
    `The most lines to show, from 1 to ${MAX_RESULTS}: ${DEFAULT_RESULTS} by default.`,
    DEFAULT_RESULTS,
  ).nullish(),
});

/** Validated search input. */
export interface SearchRequest {
  query: Query;
  path: MemoryPath;
  maxResults: number;
}

export type ReadInput = { ok: true; request: SearchRequest } | { ok: false; rejection: string };

/**
 * Validates an input as a model wrote it. A regular expression is not compiled. An error text does not start with
 * `Error: `.
 */
export function readSearchInput(input: unknown, where: Where = 'both'): ReadInput {
  const parsed = searchSchema.safeParse(input);
  if (!parsed.success) return reject(fieldProblemText(SEARCH_TOOL, ...firstProblem(parsed.error.issues)));
  const { query: text, mode, path: given, max_results: maxResults } = parsed.data;
  if (text.trim() === '') return reject(emptyQuery);
  if (text.length > MAX_QUERY_LENGTH) return reject(queryTooLong(text.length, MAX_QUERY_LENGTH));
  const found = parsePath(given ?? ROOT);
  if (!found.ok) return reject(pathProblemText(found.problem));
  const most = maxResults ?? DEFAULT_RESULTS;
  if (most < 1 || most > MAX_RESULTS) return reject(invalidMaxResults(most, MAX_RESULTS));
  const query = toQuery(text, mode ?? DEFAULT_MODE, where);
  if (query.mode === 'words' && query.words.length === 0) return reject(queryWithoutWords);
  return { ok: true, request: { query, path: found.path, maxResults: most } };
}

function toQuery(text: string, mode: Mode, where: Where): Query {
  return mode === 'words' ? { mode, where, words: queryWords(text) } : { mode, where, text };
}

function reject(rejection: string): ReadInput {
  return { ok: false, rejection };
}
