import { amount } from '../util/amount.ts';

/* The result strings of `memory_search`. docs/contract.md fixes them. */

export const foundFiles = (files: number, path: string) =>
  `Found ${amount(files, 'file')} in ${path}, the best first:`;
export const foundAlsoSome = (all: number, some: number, path: string) =>
  `Found ${amount(all, 'file')} in ${path} with all of the words, and ${some} with some of them, the best first:`;
export const foundOnlySome = (some: number, path: string) =>
  `No file in ${path} has all of the words. Found ${amount(some, 'file')} with some of them, the best first:`;
export const foundMatches = (matches: number, files: number, path: string) =>
  `Found ${matches === 1 ? '1 match' : `${matches} matches`} in ${amount(files, 'file')} in ${path}:`;

export const matchingLine = (path: string, line: number, text: string) => `${path}:${line}: ${text}`;
export const matchingPath = (path: string) => `${path} (the path matches)`;

export const moreFiles = (files: number) =>
  `[${files === 1 ? '1 more file matches' : `${files} more files match`}. Use more specific words, or search a directory with \`path\`.]`;
export const moreMatches = (matches: number) =>
  `[${matches === 1 ? '1 more match' : `${matches} more matches`}. Use a more specific query, or search a directory with \`path\`.]`;

export const noFiles = (path: string) => `There are no files in ${path}.`;
const nothing = (files: number, path: string) =>
  `Nothing matches in ${path} (${amount(files, 'file')} searched).`;
export const noWords = (files: number, path: string) =>
  `${nothing(files, path)} Try other or fewer words, or view ${path} to see what is there.`;
export const noLiteral = (files: number, path: string) =>
  `${nothing(files, path)} Matching is exact and case-sensitive. Mode \`words\` is more tolerant.`;
export const noRegex = (files: number, path: string) =>
  `${nothing(files, path)} The expression is matched line by line, with upper and lower case unless it begins with (?i). Mode words is more tolerant.`;

// Wrong input: for people as well. The model reads them after `Error: `.

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
export const unknownMode = 'must be words, literal or regex';

export const tooMuchWork =
  'The search takes too much time. Search a directory with `path`, or use a simpler query.';
