import { diff3Merge } from 'node-diff3';

/** A file's contents in the base, the draft, and the original. */
export interface ThreeTexts {
  base: string;
  draft: string;
  original: string;
}

/** A part of a merged file: lines that merge without a conflict, or lines that both sides changed differently. */
export type Region =
  | { kind: 'merged'; text: string }
  | { kind: 'conflict'; base: string; draft: string; original: string };

/** Merges three texts line by line. Identical changes on both sides do not conflict. */
export function mergeLines({ base, draft, original }: ThreeTexts): Region[] {
  const regions: { ok?: string[]; conflict?: { a: string[]; o: string[]; b: string[] } }[] = diff3Merge(
    splitIntoLines(draft),
    splitIntoLines(base),
    splitIntoLines(original),
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

/** Splits a text into lines with their line endings, so that joining the lines restores the text byte for byte. */
export function splitIntoLines(text: string): string[] {
  return text.match(/[^\n]*\n|[^\n]+$/g) ?? [];
}

/** Joins the merged text, or returns null if a region conflicts. */
export function mergedText(regions: readonly Region[]): string | null {
  const texts: string[] = [];
  for (const region of regions) {
    if (region.kind === 'conflict') return null;
    texts.push(region.text);
  }
  return texts.join('');
}
