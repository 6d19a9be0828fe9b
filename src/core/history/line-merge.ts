import { areShort } from '../lib/short-texts.ts';
import { timeSliced } from '../lib/time-slice.ts';
import { WorkerThreads } from '../lib/worker-threads.ts';
import { mergedText, mergeLines, type Region, type ThreeTexts } from './merge-lines.ts';

/**
 * Regions in two values. A thread receives a message in one step, and the many objects for a large file would block the
 * event loop.
 */
interface PackedRegions {
  /** Texts for all regions in order. A conflict has its base, its draft, and its original. */
  text: string;
  /** Each text's length in characters. */
  lengths: Uint32Array;
  /** 1 for each conflict, 0 for each merged region. */
  conflicts: Uint8Array;
}

function pack(regions: readonly Region[]): PackedRegions {
  const texts = regions.flatMap((region) =>
    region.kind === 'merged' ? [region.text] : [region.base, region.draft, region.original],
  );
  return {
    text: texts.join(''),
    lengths: Uint32Array.from(texts, ({ length }) => length),
    conflicts: Uint8Array.from(regions, ({ kind }) => (kind === 'conflict' ? 1 : 0)),
  };
}

async function unpack({ text, lengths, conflicts }: PackedRegions): Promise<Region[]> {
  const regions: Region[] = [];
  let [start, index] = [0, 0];
  const next = () => {
    const from = start;
    start += lengths[index++] ?? 0;
    return text.slice(from, start);
  };
  for await (const isConflict of timeSliced(conflicts))
    regions.push(
      isConflict === 1
        ? { kind: 'conflict', base: next(), draft: next(), original: next() }
        : { kind: 'merged', text: next() },
    );
  return regions;
}

/**
 * Limits for one merge in a thread. Texts within the default limits use far less, unless most lines are identical.
 */
const MAX_MS = 5000;
const MAX_HEAP_MIB = 512;

/** Merges short texts on the event loop, and all others in a worker thread. */
export class MergeThreads {
  readonly #threads: WorkerThreads<MergeTask, PackedRegions | string | null>;
  readonly #caller: string;

  /** @param caller the caller whose share of the threads the merges use */
  constructor(caller = '', threads = createThreads()) {
    this.#caller = caller;
    this.#threads = threads;
  }

  /** Returns the same threads for a caller's merges. */
  for(caller: string): MergeThreads {
    return new MergeThreads(caller, this.#threads);
  }

  /** @returns the regions, or a single conflict with all lines if the merge exceeds its time or memory limit */
  async merge(texts: ThreeTexts): Promise<Region[]> {
    if (areShort([sideTexts(texts)])) return mergeLines(texts);
    const packed = await this.#run<PackedRegions>({ texts, result: 'regions' });
    return packed === null ? allInConflict(texts) : unpack(packed);
  }

  /**
   * Merges files one after another.
   *
   * @param files texts by file name
   * @returns the merged texts; null for files that conflict or exceed the time or memory limit
   */
  async *mergeAll(
    files: ReadonlyMap<string, ThreeTexts>,
  ): AsyncGenerator<[name: string, text: string | null]> {
    const isShort = areShort(Array.from(files.values(), sideTexts));
    for (const [name, texts] of files)
      yield [name, isShort ? mergedText(mergeLines(texts)) : await this.#run({ texts, result: 'text' })];
  }

  /** @returns null if the task exceeds its time or memory limit */
  async #run<Result extends PackedRegions | string | null>(task: MergeTask): Promise<Result | null> {
    const merged = await this.#threads.runWithin(MAX_MS, task, this.#caller);
    return merged === 'out_of_memory' || merged === 'out_of_time' ? null : (merged as Result);
  }

  close(): Promise<void> {
    return this.#threads.close();
  }
}

/** Returns one thread for each caller, so that a caller's long merges do not delay other callers. */
function createThreads(): WorkerThreads<MergeTask, PackedRegions | string | null> {
  return new WorkerThreads({
    module: new URL('./line-merge', import.meta.url),
    threads: 2,
    perCaller: 1,
    idleMs: 30_000,
    maxHeapMiB: MAX_HEAP_MIB,
  });
}

export function allInConflict(texts: ThreeTexts): Region[] {
  return [{ kind: 'conflict', ...texts }];
}

const sideTexts = ({ base, draft, original }: ThreeTexts) => [base, draft, original];

/** A task for the worker thread: returns the regions or only the merged text. */
interface MergeTask {
  texts: ThreeTexts;
  result: 'regions' | 'text';
}

/** The worker thread's entry point. */
export default function work({ texts, result }: MergeTask): PackedRegions | string | null {
  const regions = mergeLines(texts);
  return result === 'regions' ? pack(regions) : mergedText(regions);
}
