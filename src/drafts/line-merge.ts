import { diff3Merge } from 'node-diff3';
import { SerialQueue } from '../lib/queues.ts';
import { WorkerThreads } from '../lib/worker-threads.ts';

/** The contents of a file on the three sides. */
export interface ThreeTexts {
  base: string;
  draft: string;
  original: string;
}

/**
 * A part of a merged file: lines on which the sides agree once both their changes are made, or lines that both
 * changed.
 */
export type Region =
  | { kind: 'merged'; text: string }
  | { kind: 'conflict'; base: string; draft: string; original: string };

/** Merges three texts line by line. Changes that are the same on both sides are no conflict. */
export function mergeLines({ base, draft, original }: ThreeTexts): Region[] {
  const regions: { ok?: string[]; conflict?: { a: string[]; o: string[]; b: string[] } }[] = diff3Merge(
    linesOf(draft),
    linesOf(base),
    linesOf(original),
    { excludeFalseConflicts: true },
  );
  return regions.map(({ ok, conflict }) =>
    conflict === undefined
      ? { kind: 'merged', text: (ok ?? []).join('') }
      : {
          kind: 'conflict',
          base: conflict.o.join(''),
          draft: conflict.a.join(''),
          original: conflict.b.join(''),
        },
  );
}

/** Each line with its end, so that they make the text again, byte by byte. */
function linesOf(text: string): string[] {
  return text.match(/[^\n]*\n|[^\n]+$/g) ?? [];
}

/** The whole text, when nothing conflicts; null otherwise. */
function mergedText(regions: readonly Region[]): string | null {
  const texts: string[] = [];
  for (const region of regions) {
    if (region.kind === 'conflict') return null;
    texts.push(region.text);
  }
  return texts.join('');
}

/**
 * The time to merge lines grows with the product of how often they repeat. Up to this limit, counting the texts of
 * all files together, it is a few milliseconds at worst.
 */
const FEW_LINES = 200;
const FEW_CHARACTERS = 32 * 1024;
/** Far more than texts of the default limits take, unless most of their lines are the same. */
const MAX_MS = 5000;
const MAX_HEAP_MIB = 512;

/** Merges texts away from the event loop, unless they are short. */
export class MergeThreads {
  /** One thread, so that merges leave the other cores to the database and to requests. */
  readonly #threads = new WorkerThreads<MergeTask, Region[] | string | null>({
    module: new URL('./line-merge', import.meta.url),
    threads: 1,
    idleMs: 30_000,
    maxHeapMiB: MAX_HEAP_MIB,
  });
  readonly #queue = new SerialQueue();

  /** @returns one conflict of all lines for texts that take too much time or memory */
  async merge(texts: ThreeTexts): Promise<Region[]> {
    if (areShort([texts])) return mergeLines(texts);
    return (await this.#run<Region[]>({ texts, result: 'regions' })) ?? allInConflict(texts);
  }

  /**
   * Merges files one after the other, by their names.
   *
   * @returns the merged texts; null for files with conflicts, and those that take too much time or memory
   */
  async *mergeAll(
    files: ReadonlyMap<string, ThreeTexts>,
  ): AsyncGenerator<[name: string, text: string | null]> {
    const isShort = areShort(files.values());
    for (const [name, texts] of files)
      yield [name, isShort ? mergedText(mergeLines(texts)) : await this.#run({ texts, result: 'text' })];
  }

  /** @returns null for a task that takes too much time or memory */
  #run<Result extends Region[] | string | null>(task: MergeTask): Promise<Result | null> {
    // The time of a task begins when the thread is free.
    return this.#queue.run('', async () => {
      const merged = await this.#threads.runWithin(MAX_MS, task);
      return merged === 'out_of_memory' || merged === 'out_of_time' ? null : (merged as Result);
    });
  }

  close(): Promise<void> {
    return this.#threads.close();
  }
}

export function allInConflict(texts: ThreeTexts): Region[] {
  return [{ kind: 'conflict', ...texts }];
}

function areShort(files: Iterable<ThreeTexts>): boolean {
  let [characters, lines] = [0, 0];
  for (const { base, draft, original } of files) {
    characters += Math.max(base.length, draft.length, original.length);
    if (characters > FEW_CHARACTERS) return false;
    lines += Math.max(countLines(base), countLines(draft), countLines(original));
    if (lines > FEW_LINES) return false;
  }
  return true;
}

function countLines(text: string): number {
  let lines = 0;
  for (let at = text.indexOf('\n'); at !== -1 && lines <= FEW_LINES; at = text.indexOf('\n', at + 1)) lines++;
  return lines;
}

/** What a thread makes of three texts: their regions, or only the merged text. */
interface MergeTask {
  texts: ThreeTexts;
  result: 'regions' | 'text';
}

/** Runs in the threads. */
export default function work({ texts, result }: MergeTask): Region[] | string | null {
  const regions = mergeLines(texts);
  return result === 'regions' ? regions : mergedText(regions);
}
