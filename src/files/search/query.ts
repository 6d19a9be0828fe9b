import type { Word } from './words.ts';

export const modes = ['words', 'literal', 'regex'] as const;
export type Mode = (typeof modes)[number];

/** In UTF-16 units. */
export const MAX_QUERY_LENGTH = 1000;
/** The most lines that a result may be asked to show. */
export const MAX_RESULTS = 100;
export const DEFAULT_RESULTS = 20;

/** Where a match may be. */
export type Where = 'path' | 'content' | 'both';

/** A checked query, as the threads receive it. */
export type Query = { where: Where } & (
  | { mode: 'words'; words: readonly Word[] }
  | { mode: 'literal' | 'regex'; text: string }
);

/** A file that is searched. */
export interface SearchedFile {
  path: string;
  content: string;
  /** Of the content, as UTF-8. */
  bytes: number;
  /** In seconds since 1970. */
  modified: number;
}

/** A line that matches. */
export interface FoundLine {
  /** From 1. */
  line: number;
  /** The line, or a part of a long one. */
  text: string;
}

export interface FoundFile {
  path: string;
  modified: number;
  bytes: number;
  /** Empty when only the path matches. For words the best first, otherwise in the order of the file. */
  lines: FoundLine[];
}
