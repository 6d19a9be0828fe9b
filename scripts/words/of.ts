/** `npx tsx scripts/words/of.ts`: prints the number of "of" in 1,000 words for each kind of text and each directory. */
import type { Kind, Text } from './paragraphs.ts';
import { groupDirectory } from './ratchet.ts';
import { readTexts } from './repository.ts';

/** Maximum of "of" in 1,000 words. Lower a limit after a rewrite. */
export const MAX_OF = { comments: 12, titles: 8, texts: 26, docs: 17 };
type Group = keyof typeof MAX_OF;
const toGroup = (kind: Kind): Group => (kind === 'suites' ? 'titles' : kind);

interface Tally {
  words: number;
  of: number;
}

/** Counts words by group. Code in backticks is one word. */
export function countWords(texts: readonly Pick<Text, 'kind' | 'text'>[]): Map<Group, Tally> {
  const tallies = new Map<Group, Tally>();
  for (const { kind, text } of texts) {
    const group = toGroup(kind);
    const tally = tallies.get(group) ?? { words: 0, of: 0 };
    for (const word of text.replaceAll(/(`+)[^`]+\1/g, 'code').match(/[\p{L}\p{N}][\p{L}\p{N}’'-]*/gu) ??
      []) {
      tally.words++;
      if (word.toLowerCase() === 'of') tally.of++;
    }
    tallies.set(group, tally);
  }
  return tallies;
}

const perThousand = ({ words, of }: Tally) => (1000 * of) / Math.max(1, words);

/** Describes each text group that exceeds its limit. */
export const describeExcess = (texts: readonly Pick<Text, 'kind' | 'text'>[]): string[] =>
  [...countWords(texts)]
    .filter(([group, tally]) => perThousand(tally) > MAX_OF[group])
    .map(
      ([group, tally]) =>
        `"of" stands ${perThousand(tally).toFixed(1)} times in 1,000 words of ${group}, and ${MAX_OF[group]} are allowed. ` +
        'Use a possessive, a compound, or another preposition. `npx tsx scripts/words/of.ts` lists the directories.',
    );

function print(): void {
  const texts = readTexts();
  const directories = [...new Set(texts.map(({ file }) => groupDirectory(file)))].map((directory) => ({
    directory,
    tallies: countWords(texts.filter(({ file }) => groupDirectory(file) === directory)),
  }));
  const totals = countWords(texts);
  for (const group of Object.keys(MAX_OF) as Group[]) {
    console.log(`\n${group} (limit ${MAX_OF[group]})\n   rate     of   words`);
    const rows = directories.map(({ directory, tallies }) => ({ directory, tally: tallies.get(group) }));
    for (const { directory, tally } of [{ directory: 'all', tally: totals.get(group) }, ...rows].toSorted(
      (a, b) => (b.tally?.of ?? 0) - (a.tally?.of ?? 0),
    )) {
      if (tally === undefined) continue;
      const cells = [perThousand(tally).toFixed(1), tally.of, tally.words];
      console.log(cells.map((cell) => String(cell).padStart(7)).join(' '), directory);
    }
  }
}

if (process.argv[1] === import.meta.filename) print();
