import { SEARCH_DEFINITION, type SearchMode } from './definitions.ts';

/** An input of `memory_search`. */
export interface MemorySearchInput {
  /** The text or pattern to search for. */
  readonly query: string;
  /** Mode of the search; `words` by default. */
  readonly mode?: SearchMode | null | undefined;
  /** Directory or file to search; all of `/memories` by default. */
  readonly path?: string | null | undefined;
  /** Maximum number of lines in the result, from 1 to 100; 20 by default. */
  readonly max_results?: number | null | undefined;
}

/** The tool `memory_search`, for the `tools` of a request to the Messages API. */
export const MEMORY_SEARCH_TOOL = SEARCH_DEFINITION;
