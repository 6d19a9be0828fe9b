import type { QueryExecutor } from '../database/query.ts';
import { batches } from '../lib/pages.ts';
import { timeSliced } from '../lib/time-slice.ts';
import { type Fold, type FoldedFile, foldFiles } from './fold.ts';
import type { MergeThreads } from './line-merge.ts';
import {
  type ActorChanges,
  findTouchedFile,
  readTouched,
  type Touched,
  type TouchedFile,
} from './touched.ts';

/** Maximum size of the merged texts that one revert holds in memory, in UTF-16 units. Other texts are merged again. */
const MAX_CACHED = 64 * 1024 * 1024;
const FILES_A_BATCH = 100;

/** Folds of a revert's files, computed once for each file state. */
export class Folds {
  readonly #threads: MergeThreads;
  readonly #changes: ActorChanges;
  readonly #maxCached: number;
  readonly #folds = new Map<string, { key: string; fold: Fold }>();
  #cached = 0;

  constructor(threads: MergeThreads, changes: ActorChanges, maxCached = MAX_CACHED) {
    this.#threads = threads;
    this.#changes = changes;
    this.#maxCached = maxCached;
  }

  /** Folds the files that others changed, ahead of `read`. */
  async prepare(query: QueryExecutor, { files }: Touched): Promise<void> {
    const folded: Touched['files'] = new Map();
    for await (const [id, file] of timeSliced(files)) if (file.other !== null) folded.set(id, file);
    const read = this.read(query, readTouched(query, this.#changes.tenant, { files: folded }));
    for await (const _ of read);
  }

  /** Yields each file with its fold. */
  async *read(query: QueryExecutor, files: AsyncIterable<TouchedFile>): AsyncGenerator<[TouchedFile, Fold]> {
    const context = { query, threads: this.#threads, changes: this.#changes };
    for await (const batch of batches(files, {
      items: FILES_A_BATCH,
      weight: FILES_A_BATCH,
      weigh: () => 1,
    })) {
      const missing = batch.filter((file) => this.#folds.get(file.memoryId)?.key !== foldKey(file));
      for await (const [file, fold] of foldFiles(context, missing)) this.#keep(file, fold);
      for (const file of batch) {
        const known = this.#folds.get(file.memoryId);
        if (known !== undefined) yield [file, known.fold];
      }
    }
  }

  /** Computes one file's fold, with its text. */
  async readOne(query: QueryExecutor, file: TouchedFile): Promise<Fold> {
    const context = { query, threads: this.#threads, changes: this.#changes };
    for await (const [, fold] of foldFiles(context, [file])) return fold;
    throw new Error(`The file ${file.memoryId} has no fold.`);
  }

  /** Returns the text for a file in a plan. */
  async readText(query: QueryExecutor, memoryId: string, { text }: FoldedFile): Promise<string> {
    if (text !== null) return text;
    const file = await findTouchedFile(query, this.#changes, memoryId);
    const { state } = file === undefined ? { state: null } : await this.readOne(query, file);
    if (state?.text == null) throw new Error(`The merged text of ${memoryId} is missing.`);
    return state.text;
  }

  clear(): void {
    this.#folds.clear();
    this.#cached = 0;
  }

  #keep(file: TouchedFile, fold: Fold): void {
    const size = fold.state?.text?.length ?? 0;
    const isCached = this.#cached + size <= this.#maxCached;
    if (isCached) this.#cached += size;
    const { state } = fold;
    const kept = isCached || !state ? fold : { ...fold, state: { ...state, text: null } };
    this.#folds.set(file.memoryId, { key: foldKey(file), fold: kept });
  }
}

/** Identifies a file's versions, because later changes add a version. */
function foldKey({ head, other, before, firstOperation }: TouchedFile): string {
  return [head?.versionId, other, before?.versionId, before?.sha256, firstOperation].join(' ');
}
