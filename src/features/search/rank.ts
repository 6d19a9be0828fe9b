/*
 * BM25 with two fields (Robertson and Zaragoza, "The Probabilistic Relevance Framework: BM25 and Beyond", 2009): the
 * path, and the content. In the content, a word counts by its frequency per length, relative to the typical file.
 */
const SATURATION = 1.2;
/** Short passage length in bytes. Files with less text do not rank higher for their shortness. */
const SHORT_BYTES = 200;
/** Bonus for a line, or a path, that contains all words. */
const TOGETHER = 2;
/** Bonus for a change that was just made. The bonus halves every `RECENT_SECONDS`. */
const RECENT = 0.1;
const RECENT_SECONDS = 30 * 86_400;

/** Statistics on all searched files. */
export interface Corpus {
  files: number;
  /** Sum of `logLength` over the files. */
  logLengths: number;
  /** For each word, the number of files that contain it. Another form of the word counts less. */
  frequencies: readonly number[];
}

/** Statistics on a file that contains query words. Each array has one element per word. */
export interface WordsFile {
  path: string;
  modified: number;
  bytes: number;
  /** As in `WordCounts`. */
  inContent: number[];
  inPath: number[];
  best: number[];
  together: number;
}

export interface RankedFile extends WordsFile {
  score: number;
}

/** Returns the logarithm of the length that counts for a file. */
export function logLength({ bytes }: { bytes: number }): number {
  return Math.log(Math.max(bytes, SHORT_BYTES));
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
    .map((file) => ({ ...file, score: computeScore(file, corpus, importance, now) }))
    .sort((one, other) => other.score - one.score || (one.path < other.path ? -1 : 1));
}

function computeScore(file: WordsFile, corpus: Corpus, importance: readonly number[], now: number): number {
  // Lengths differ by factors, so their geometric mean is typical. A few long files would dominate the arithmetic mean.
  const length = Math.exp(logLength(file) - corpus.logLengths / corpus.files);
  let score = 0;
  let all = 0;
  let inLine = 0;
  let inName = 0;
  for (const [word, weight] of importance.entries()) {
    const [inContent = 0, inPath = 0, best = 0] = [file.inContent[word], file.inPath[word], file.best[word]];
    const count = inContent / length + inPath;
    // The similarity limits the score, so that many similar words do not outweigh the exact word.
    score += (weight * best * count * (1 + SATURATION)) / (count + SATURATION);
    all += weight;
    if ((file.together & (1 << word)) !== 0) inLine += weight;
    if (inPath > 0) inName += weight;
  }
  const age = Math.max(0, now - file.modified) / RECENT_SECONDS;
  return score * (1 + TOGETHER * (Math.max(inLine, inName) / all)) * (1 + RECENT * 2 ** -age);
}
