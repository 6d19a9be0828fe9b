/**
 * `npx tsx scripts/words/sample.ts COUNT SEED`: prints a random sample of texts for a review by a reader without the
 * code. Each kind has the same share. A seed gives the same sample again in the same commit.
 */
import type { Text } from './paragraphs.ts';
import { readSubjects, readTexts } from './repository.ts';

type Sampled = Pick<Text, 'text'> & { kind: string; place: string };

/** Shorter texts, such as a table's cells, are left out. */
const MIN_WORDS = 3;

/** Kinds for `texts`, by the start of the file's path. */
const KINDS: readonly [RegExp, string][] = [
  [/^(admin-)?openapi\.yaml$/, 'OpenAPI'],
  [/^console\//, 'console'],
  [/^src\/(core|features\/[a-z-]+)\/cli\b/, 'help'],
  [/^src\//, 'errors'],
  [/^/, 'comments'],
];

function toSampledKind(file: string, kind: Text['kind']): string {
  if (kind === 'suites') return 'titles';
  return kind === 'texts' ? (KINDS.find(([path]) => path.test(file))?.[1] ?? kind) : kind;
}

/** Returns a generator for numbers from 0 to 1 (mulberry32). */
export function seededRandom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** Draws `count` items, or all if there are fewer. */
export function draw<T>(items: readonly T[], count: number, random: () => number): T[] {
  const left = [...items];
  return Array.from(
    { length: Math.min(count, left.length) },
    () => left.splice(Math.floor(random() * left.length), 1)[0] as T,
  );
}

/** Draws texts with the same share for each kind. The first kinds have one more if `count` is not a multiple. */
export function sample(texts: readonly Sampled[], count: number, seed: number): Sampled[] {
  const random = seededRandom(seed);
  const kinds = [...new Set(texts.map(({ kind }) => kind))].sort();
  return kinds.flatMap((kind, i) => {
    const distinct = new Map(texts.filter((text) => text.kind === kind).map((text) => [text.text, text]));
    return draw([...distinct.values()], Math.floor((count + kinds.length - 1 - i) / kinds.length), random);
  });
}

function readSampled(): Sampled[] {
  const texts = readTexts().map(({ file, kind, line, text }) => ({
    kind: toSampledKind(file, kind),
    place: `${file}:${line}`,
    text: text.replaceAll(/\s+/g, ' ').trim(),
  }));
  const commits = readSubjects().map(({ commit, subject }) => ({
    kind: 'commits',
    place: commit,
    text: subject,
  }));
  return [...texts, ...commits].filter(({ text }) => text.split(' ').length >= MIN_WORDS);
}

if (process.argv[1] === import.meta.filename) {
  const [count, seed] = process.argv.slice(2).map(Number);
  if (!Number.isInteger(count) || !Number.isInteger(seed)) throw new Error('Usage: sample.ts COUNT SEED');
  let kind = '';
  for (const sampled of sample(readSampled(), count ?? 0, seed ?? 0)) {
    if (sampled.kind !== kind) console.log(`\n${sampled.kind}`);
    kind = sampled.kind;
    console.log(`${sampled.place}: ${sampled.text}`);
  }
}
