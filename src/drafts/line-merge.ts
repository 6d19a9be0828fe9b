import { diff3Merge } from 'node-diff3';
import { SerialQueue } from '../util/serial-queue.ts';
import { WorkerThreads } from '../util/worker-threads.ts';

/** The contents of a file on the three sides. */
export interface ThreeTexts {
  base: string;
  draft: string;
  original: string;
}

/** A part of a merged file: lines on which the sides agree once both their changes are made, or lines that both changed. */
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
export function mergedText(regions: readonly Region[]): string | null {
  const texts: string[] = [];
  for (const region of regions) {
    if (region.kind === 'conflict') return null;
    texts.push(region.text);
  }
  return texts.join('');
}

/** The time to merge lines grows with the product of how often they repeat. Up to this limit, it is a few milliseconds at worst. */
const FEW_LINES = 200;
const FEW_CHARACTERS = 32 * 1024;
/** Far more than texts of the default limits take, unless most of their lines are the same. */
const DEADLINE_MS = 5000;
const MAX_HEAP_MIB = 512;

/** Merges texts away from the event loop, unless they are short. */
export class MergeThreads {
  /** One thread, so that merges leave the other cores to the database and to requests. */
  readonly #threads = new WorkerThreads<ThreeTexts, Region[]>({
    module: new URL('line-merge', import.meta.url),
    threads: 1,
    idleMs: 30_000,
    maxHeapMiB: MAX_HEAP_MIB,
  });
  readonly #queue = new SerialQueue();

  /** @returns one conflict of all lines for texts that take too much time or memory */
  async merge(texts: ThreeTexts): Promise<Region[]> {
    if (isShort(texts)) return mergeLines(texts);
    // Their time begins when the thread is free for them.
    return this.#queue.run('', () => this.#mergeInThread(texts));
  }

  async #mergeInThread(texts: ThreeTexts): Promise<Region[]> {
    const deadline = AbortSignal.timeout(DEADLINE_MS);
    try {
      const merged = await this.#threads.run(texts, deadline);
      return merged === 'out_of_memory' ? allInConflict(texts) : merged;
    } catch (error) {
      if (deadline.aborted) return allInConflict(texts);
      throw error;
    }
  }

  close(): Promise<void> {
    return this.#threads.close();
  }
}

export function allInConflict(texts: ThreeTexts): Region[] {
  return [{ kind: 'conflict', ...texts }];
}

function isShort(texts: ThreeTexts): boolean {
  return Object.values(texts).every(
    (text: string) => text.length <= FEW_CHARACTERS && countLines(text) <= FEW_LINES,
  );
}

function countLines(text: string): number {
  let lines = 0;
  for (let at = text.indexOf('\n'); at !== -1 && lines <= FEW_LINES; at = text.indexOf('\n', at + 1)) lines++;
  return lines;
}

/** What the threads run. */
export default function work(texts: ThreeTexts): Region[] {
  return mergeLines(texts);
}
