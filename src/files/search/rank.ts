import type { WordsFile } from './match-words.ts';

/* BM25 with two fields (Robertson and Zaragoza, "The Probabilistic Relevance Framework: BM25 and Beyond", 2009): the content, in which a word
counts the less the longer the content is, and the path. */
const SATURATION = 1.2;
const LENGTH = 0.6;
/** The part of the score that a file has without the words that it lacks. */
const PARTIAL = 0.4;
/** What a line with all of the words adds. */
const TOGETHER = 0.3;
/** What the latest change adds; it halves in this time. */
const RECENT = 0.1;
const RECENT_SECONDS = 30 * 86_400;

/** The statistics of all files that were searched. */
export interface Corpus {
  files: number;
  bytes: number;
  /** For each word in how many files it is. Another form of the word counts less. */
  frequencies: readonly number[];
}

export interface RankedFile extends WordsFile {
  score: number;
}

/**
 * Returns the files with their scores, the best first.
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
    // Many merely similar words do not make up for the word itself.
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
