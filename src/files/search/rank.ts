import type { WordsFile } from './match-words.ts';

/*
 * BM25 with two fields (Robertson and Zaragoza, "The Probabilistic Relevance Framework: BM25 and Beyond", 2009): the
 * path, and the content. In the content, a word counts less the longer the content is.
 */
const SATURATION = 1.2;
const LENGTH = 0.6;
/** Share of the score that does not depend on how many words of the query a file contains. */
const PARTIAL = 0.4;
/** Bonus of a line that contains all words. */
const TOGETHER = 0.3;
/** Bonus of a change that was just made. It halves every `RECENT_SECONDS`. */
const RECENT = 0.1;
const RECENT_SECONDS = 30 * 86_400;

/** Statistics of all searched files. */
export interface Corpus {
  files: number;
  bytes: number;
  /** Number of files that contain each word. Another form of the word counts less. */
  frequencies: readonly number[];
}

export interface RankedFile extends WordsFile {
  score: number;
}

/**
 * Returns the files with their scores, best first.
 *
 * @param now in seconds since 1970
 */
export function rank(files: readonly WordsFile[], corpus: Corpus, now: number): RankedFile[] {
  const importance = corpus.frequencies.map((files) =>
    Math.log(1 + (corpus.files - files + 0.5) / (files + 0.5)),
  );
  return files
    .map((file) => ({ ...file, score: scoreOf(file, corpus, importance, now) }))
    .sort((one, other) => other.score - one.score || (one.path < other.path ? -1 : 1));
}

function scoreOf(file: WordsFile, corpus: Corpus, importance: readonly number[], now: number): number {
  const length = 1 - LENGTH + (LENGTH * file.bytes * corpus.files) / Math.max(1, corpus.bytes);
  let score = 0;
  let all = 0;
  let here = 0;
  let together = 0;
  for (const [word, weight] of importance.entries()) {
    const [inContent = 0, inPath = 0, best = 0] = [file.inContent[word], file.inPath[word], file.best[word]];
    const count = inContent / length + inPath;
    // The similarity limits the score, so that many similar words do not outweigh the exact word.
    score += (weight * best * count * (1 + SATURATION)) / (count + SATURATION);
    all += weight;
    here += weight * best;
    if ((file.together & (1 << word)) !== 0) together += weight;
  }
  const age = Math.max(0, now - file.modified) / RECENT_SECONDS;
  return (
    score *
    (PARTIAL + (1 - PARTIAL) * (here / all)) *
    (1 + TOGETHER * (together / all)) *
    (1 + RECENT * 2 ** -age)
  );
}
