import type { WordCounts } from './match-words.ts';
import type { FoundLine } from './search-query.ts';

/** Result from searching a page. */
export type Scanned =
  | { kind: 'counts'; counts: WordCounts; excerpts: [path: string, lines: FoundLine[]][] }
  | { kind: 'excerpts'; files: FoundLine[][] }
  | ScannedLines
  | { kind: 'invalid_expression'; problem: string };

export interface ScannedLines {
  kind: 'lines';
  /** Files with lines to show. `file` is the index in the page. */
  files: { file: number; lines: FoundLine[] }[];
  /** Number of matches that are not shown: matching lines, and files whose path matches. */
  furtherLines: number;
  /** Number of files with such matches that are not in `files`. */
  furtherFiles: number;
}
