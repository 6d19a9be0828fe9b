import type { WordCounts } from './match-words.ts';
import { type Corpus, logLength, type RankedFile, rank, type WordsFile } from './rank.ts';
import type { Scanned } from './scanned.ts';
import type { FoundFile, SearchedFile } from './search-query.ts';

/** A file that a search by words shows. */
export interface ShownFile extends FoundFile {
  score: number;
}

/** Search outcome. */
export type Found =
  | { kind: 'words'; files: ShownFile[]; withAll: number; withSome: number; searched: number }
  | { kind: 'lines'; files: FoundFile[]; furtherLines: number; furtherFiles: number; searched: number }
  | { kind: 'missing' }
  | { kind: 'invalid_expression'; problem: string }
  | { kind: 'too_much_work' };

/** Limit on the best files that a word search keeps, more than a search shows. */
const MAX_KEPT = 1000;

/** Keeps the best files, and counts all files. */
export class WordResults {
  readonly maxLines = 0;
  readonly #frequencies: number[];
  #files: WordsFile[] = [];
  #logLengths = 0;
  #searched = 0;
  #withAll = 0;
  #withSome = 0;

  /** @param words number of query words */
  constructor(words: number) {
    this.#frequencies = new Array<number>(words).fill(0);
  }

  add(scanned: Scanned, page: readonly SearchedFile[]): void {
    if (scanned.kind !== 'counts') throw new Error(`The thread returned ${scanned.kind}.`);
    this.#searched += page.length;
    for (const file of page) this.#logLengths += logLength(file);
    for (const file of toWordsFiles(scanned.counts, page, this.#frequencies.length)) {
      for (const [word, best] of file.best.entries())
        this.#frequencies[word] = (this.#frequencies[word] ?? 0) + best;
      if (file.best.every((best) => best > 0)) this.#withAll++;
      else this.#withSome++;
      this.#files.push(file);
    }
    if (this.#files.length > 2 * MAX_KEPT) this.#files = this.rankFiles().slice(0, MAX_KEPT);
  }

  /** Returns the best files, best first. */
  rankFiles(): RankedFile[] {
    const corpus: Corpus = {
      files: this.#searched,
      logLengths: this.#logLengths,
      frequencies: this.#frequencies,
    };
    return rank(this.#files, corpus, Date.now() / 1000);
  }

  toFound(files: ShownFile[]): Found {
    return {
      kind: 'words',
      files,
      withAll: this.#withAll,
      withSome: this.#withSome,
      searched: this.#searched,
    };
  }
}

/** Returns a page's counted files. @param words number of query words */
export function toWordsFiles(counts: WordCounts, page: readonly SearchedFile[], words: number): WordsFile[] {
  return counts.files.flatMap((index, i) => {
    const file = page[index];
    if (file === undefined) return [];
    const { path, modified, bytes } = file;
    const rowValues = (column: Float64Array) => {
      const values: number[] = [];
      for (let at = i * words; at < (i + 1) * words; at++) values.push(column[at] ?? 0);
      return values;
    };
    return {
      path,
      modified,
      bytes,
      inContent: rowValues(counts.inContent),
      inPath: rowValues(counts.inPath),
      best: rowValues(counts.best),
      together: counts.together[i] ?? 0,
    };
  });
}

/** Keeps the first lines, and counts the other lines. */
export class LineResults {
  maxLines: number;
  readonly #files: FoundFile[] = [];
  #searched = 0;
  #furtherLines = 0;
  #furtherFiles = 0;

  constructor(maxLines: number) {
    this.maxLines = maxLines;
  }

  add(scanned: Scanned, page: readonly SearchedFile[]): void {
    if (scanned.kind !== 'lines') throw new Error(`The thread returned ${scanned.kind}.`);
    this.#searched += page.length;
    this.#furtherLines += scanned.furtherLines;
    this.#furtherFiles += scanned.furtherFiles;
    for (const { file, lines } of scanned.files) {
      // A page that was searched beside the page before may have more lines than are left.
      const found = Math.max(1, lines.length);
      const shown = Math.min(this.maxLines, found);
      this.#furtherLines += found - shown;
      this.maxLines -= shown;
      if (shown > 0) this.#files.push({ path: page[file]?.path ?? '', lines: lines.slice(0, shown) });
      else this.#furtherFiles++;
    }
  }

  toFound(): Found {
    const further = { furtherLines: this.#furtherLines, furtherFiles: this.#furtherFiles };
    return { kind: 'lines', files: this.#files, ...further, searched: this.#searched };
  }
}
