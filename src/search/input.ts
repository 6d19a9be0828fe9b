import { z } from 'zod';
import { firstProblem, integerField, pathField, textField, wrongType } from '../memory/commands/command.ts';
import { fieldProblemText, pathProblemText } from '../memory/messages.ts';
import { type MemoryPath, parsePath, ROOT } from '../memory/path.ts';
import { emptyQuery, invalidMaxResults, queryTooLong, queryWithoutWords, unknownMode } from './messages.ts';
import { DEFAULT_RESULTS, MAX_QUERY_LENGTH, MAX_RESULTS, modes, type Query, type Where } from './query.ts';
import { wordsOf } from './words.ts';

/** The name of the tool, whose calls come as `tool_use` blocks. */
export const SEARCH_TOOL = 'memory_search';

/** The input of `memory_search`. OpenAPI shows it too. */
export const searchSchema = z.object({
  query: textField('What to look for.', 'staging database password'),
  mode: z
    .enum(modes, { error: wrongType(unknownMode) })
    .nullish()
    .meta({
      description:
        '`words` (the default): the files with most of the words, the best first. `literal`: this very text. `regex`: a regular expression in RE2 syntax, for each line.',
    }),
  path: pathField(
    'The directory or file to search: all of /memories by default.',
    '/memories/projects',
  ).nullish(),
  max_results: integerField(
    `The most lines to show, from 1 to ${MAX_RESULTS}: ${DEFAULT_RESULTS} by default.`,
    DEFAULT_RESULTS,
  ).nullish(),
});

/** A search, once its input is checked. */
export interface SearchRequest {
  query: Query;
  path: MemoryPath;
  maxResults: number;
}

export type ReadInput = { ok: true; request: SearchRequest } | { ok: false; refusal: string };

/** Checks an input as a model wrote it, but not its expression. A refusal is in words for the model, without `Error: `. */
export function readSearchInput(input: unknown, where: Where = 'both'): ReadInput {
  const parsed = searchSchema.safeParse(input);
  if (!parsed.success) return refuse(fieldProblemText(SEARCH_TOOL, ...firstProblem(parsed.error.issues)));
  const { query: text, mode, path: given, max_results: maxResults } = parsed.data;
  if (text.trim() === '') return refuse(emptyQuery);
  if (text.length > MAX_QUERY_LENGTH) return refuse(queryTooLong(text.length, MAX_QUERY_LENGTH));
  const found = parsePath(given ?? ROOT);
  if (!found.ok) return refuse(pathProblemText(found.problem));
  const most = maxResults ?? DEFAULT_RESULTS;
  if (most < 1 || most > MAX_RESULTS) return refuse(invalidMaxResults(most, MAX_RESULTS));
  const query = queryOf(text, mode ?? 'words', where);
  if (query.mode === 'words' && query.words.length === 0) return refuse(queryWithoutWords);
  return { ok: true, request: { query, path: found.path, maxResults: most } };
}

function queryOf(text: string, mode: (typeof modes)[number], where: Where): Query {
  return mode === 'words' ? { mode, where, words: wordsOf(text) } : { mode, where, text };
}

function refuse(refusal: string): ReadInput {
  return { ok: false, refusal };
}
