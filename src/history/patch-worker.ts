import type { LoadedState } from './log.ts';
import { type Comparison, compare } from './patch.ts';

/** What a thread of `PatchThreads` runs. */
export default function work({ before, after }: { before: LoadedState; after: LoadedState }): Comparison {
  return compare(before, after);
}
