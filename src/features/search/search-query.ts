import type { LineMode } from './modes.ts';
import type { SharedText } from './shared-text.ts';
import type { Word } from './words.ts';

/** In UTF-16 units. */
export const MAX_QUERY_LENGTH = 1000;
/** Maximum for `max_results`. */
export const MAX_RESULTS = 100;
export const DEFAULT_RESULTS = 20;

/** File parts to search for a match. */
export type Where = 'path' | 'content' | 'both';

/** A validated query, as sent to the search threads. */
export type Query = { where: Where } & (
  | { mode: 'words'; words: readonly Word[] }
  | { mode: LineMode; text: string; ignoresCase?: boolean }
);

export interface SearchedFile<Content = string | SharedText> {
  path: string;
  content: Content;
  /** Content size in UTF-8 bytes. */
  bytes: number;
  /** In seconds since 1970. */
  modified: number;
}

export interface FoundLine {
  /** Line number, from 1. */
  line: number;
  /** The line, or a part of a long line. */
  text: string;
  /** The part's offset in the line. */
  from: number;
}

export interface FoundFile {
  path: string;
  /**
   * Empty if only the path matches. For words, the best line is first; otherwise lines are in file order.
   */
  lines: FoundLine[];
}
