const DESCRIPTION = `Searches the files of your memory, all of /memories, and shows where something is: each result is path:line: text. Use it to find what was written down before, and view or edit the file that it names. A memory directory shows only two levels; this finds files at any depth.

- Start with mode words (the default) and the few words that the file must contain: names, topics, error codes. Not a whole question. The best files come first; case, accents and simple endings do not matter.
- Use mode literal for an exact text, and mode regex (RE2 syntax, line by line) for a pattern. Both are case-sensitive.
- When nothing is found, try other words for the same thing before you conclude that it is not there.`;

/** An input of `memory_search`. */
export interface MemorySearchInput {
  /** The text or pattern to search for. */
  readonly query: string;
  /** Mode of the search; `words` by default. */
  readonly mode?: 'words' | 'literal' | 'regex' | null | undefined;
  /** Directory or file to search; all of `/memories` by default. */
  readonly path?: string | null | undefined;
  /** Maximum number of lines in the result, from 1 to 100; 20 by default. */
  readonly max_results?: number | null | undefined;
}

/** The tool `memory_search`, for the `tools` of a request to the Messages API. */
export const MEMORY_SEARCH_TOOL = {
  name: 'memory_search',
  description: DESCRIPTION,
  input_schema: {
    type: 'object' as const,
    properties: {
      query: { type: 'string', description: 'The text or pattern to search for.' },
      mode: {
        type: 'string',
        enum: ['words', 'literal', 'regex'],
        description: 'How to look for it: words by default.',
      },
      path: {
        type: 'string',
        description: 'The directory or file to search, like /memories/projects. All of /memories by default.',
      },
      max_results: {
        type: 'integer',
        description: 'The most lines to show, from 1 to 100: 20 by default.',
      },
    },
    required: ['query'],
  },
};
