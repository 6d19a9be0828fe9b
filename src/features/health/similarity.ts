import { fold } from '../../core/lib/folding.ts';
import { timeSliced } from '../../core/lib/time-slice.ts';

/*
 * MinHash with one permutation (Li, Owen, Zhang: One Permutation Hashing, 2012): a text's sketch has the smallest hash
 * in each bin, and the share of equal bins estimates how many shingles are common. No maintained package for Node.js
 * does this.
 */

const BINS = 64;
const EMPTY = 0xffff_ffff;
/** Bins that two sketches have in common before they are compared. */
const BAND = 4;
/** Minimum share, from 0 to 1, for texts to be similar. */
const SIMILAR = 0.8;
/** Maximum number of files to compare for each band, so that the work is linear. */
const MAX_CANDIDATES = 8;

const UNSPACED = String.raw`[\p{sc=Han}\p{sc=Hiragana}\p{sc=Katakana}\p{sc=Thai}\p{sc=Lao}\p{sc=Khmer}\p{sc=Myanmar}]`;
/** A word in a folded text, or one character in a script without spaces. Most words are ASCII. */
const WORD = new RegExp(`[a-z0-9]+|${UNSPACED}|(?:(?!${UNSPACED})[\\p{L}\\p{N}\\p{M}])+`, 'gu');

/** Sketches a text's shingles: each three consecutive words, without case, accents, and punctuation. */
export function sketchText(text: string): Uint32Array {
  const sketch = new Uint32Array(BINS).fill(EMPTY);
  let [before, last, words] = [0, 0, 0];
  const add = (hash: number) => {
    const bin = hash % BINS;
    sketch[bin] = Math.min(sketch[bin] as number, hash >>> 6);
  };
  for (const [word] of fold(text).matchAll(WORD)) {
    const next = hashWord(word);
    if (++words > 2) add(combine(combine(before, last), next));
    [before, last] = [last, next];
  }
  if (words === 1 || words === 2) add(combine(before, last));
  return sketch;
}

/**
 * Yields the files whose text is similar to an earlier file's text, as pairs of indexes into `sketches`. Runs in time
 * slices.
 */
export async function* findSimilar(
  sketches: readonly Uint32Array[],
): AsyncGenerator<{ file: number; like: number }> {
  // A map for each band, because one large map would take long to grow.
  const bands = Array.from({ length: BINS / BAND }, () => new Map<number, number[]>());
  for await (const [file, sketch] of timeSliced(sketches.entries())) {
    const keys = bandKeys(sketch);
    const found = keys.flatMap((key, band) => (key === null ? [] : (bands[band]?.get(key) ?? [])));
    const like = found.find((each) => similarity(sketch, sketches[each] as Uint32Array) >= SIMILAR);
    if (like !== undefined) {
      yield { file, like };
      continue;
    }
    for (const [band, key] of keys.entries()) {
      if (key === null) continue;
      const candidates = bands[band]?.get(key);
      if (candidates === undefined) bands[band]?.set(key, [file]);
      else if (candidates.length < MAX_CANDIDATES) candidates.push(file);
    }
  }
}

function similarity(one: Uint32Array, other: Uint32Array): number {
  let [same, used] = [0, 0];
  for (let i = 0; i < BINS; i++) {
    if (one[i] === EMPTY && other[i] === EMPTY) continue;
    used++;
    if (one[i] === other[i]) same++;
  }
  return used === 0 ? 0 : same / used;
}

/** Returns each band's key; null for a band with only empty bins. */
function bandKeys(sketch: Uint32Array): (number | null)[] {
  return Array.from({ length: BINS / BAND }, (_, band) => {
    const bins = sketch.subarray(band * BAND, (band + 1) * BAND);
    return bins.every((value) => value === EMPTY) ? null : bins.reduce(combine, band);
  });
}

/** Hashes a word by FNV-1a. */
function hashWord(word: string): number {
  let hash = 0x811c_9dc5;
  for (let i = 0; i < word.length; i++) hash = Math.imul(hash ^ word.charCodeAt(i), 0x0100_0193);
  return hash >>> 0;
}

/** Mixes two hashes by MurmurHash3's finalizer. */
function combine(one: number, other: number): number {
  let hash = Math.imul(one, 31) + other;
  hash = Math.imul(hash ^ (hash >>> 16), 0x85eb_ca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2_ae35);
  return (hash ^ (hash >>> 16)) >>> 0;
}
