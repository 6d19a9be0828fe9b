import type { ShownLines } from '../memory/commands/memory-command.ts';
import type { Call } from './tool-call.ts';

/** The caller that reads the lines. */
export type Reader = Pick<Call, 'principal' | 'policy'>;

/** A matching line that a search result shows. `text` is the line or, if the line is long, a part of it with `…`. */
export interface ShownMatch {
  path: string;
  line: number;
  text: string;
}

/** Says who wrote each shown line last, and when (src/features/provenance). Throws `DatabaseError`. */
export interface Provenance {
  /** Returns the block for a view of a file. */
  describeView(shown: ShownLines, reader: Reader): Promise<string>;
  /** Returns the block for a search with at least one matching line. */
  describeMatches(matches: readonly ShownMatch[], reader: Reader): Promise<string>;
}
