/** A text in the form that is compared, with each UTF-16 unit's origin. */
export interface Folded {
  text: string;
  /** Returns the offset in the original text at which a unit's origin starts. */
  originStart(unit: number): number;
  /** Returns the offset in the original text after a unit's origin. */
  originEnd(unit: number): number;
}

/**
 * Folds a text's parts one by one, and keeps each part's range. A string consists of its characters, and
 * `splitClusters` returns longer parts.
 */
export function foldParts(parts: Iterable<string>, foldPart: (part: string) => string): Folded {
  const folded: string[] = [];
  const starts: number[] = [];
  const ends: number[] = [];
  let start = 0;
  for (const part of parts) {
    const form = foldPart(part);
    const end = start + part.length;
    folded.push(form);
    for (let i = 0; i < form.length; i++) {
      starts.push(start);
      ends.push(end);
    }
    start = end;
  }
  return {
    text: folded.join(''),
    originStart: (unit) => starts[unit] ?? start,
    originEnd: (unit) => ends[unit] ?? start,
  };
}

/** Returns a text without the difference between upper and lower case. The number of lines is preserved. */
export function withoutCase(text: string): string {
  // Lower case first, because `ẞ` is `SS` only by way of `ß`. A final sigma depends on its neighbors.
  return text.toLowerCase().toUpperCase().toLowerCase().replaceAll('ς', 'σ');
}

/**
 * Returns a text in the form in which a search compares it: NFKC and without case, accents, vowel points, and invisible
 * characters. The number of lines is preserved.
 */
export function fold(text: string): string {
  const lower = text.toLowerCase();
  return MAY_CHANGE.test(lower) ? lower.replace(RUN, foldRun) : lower;
}

/** Folds a text as `fold` does, with each unit's origin. */
export function foldWithOffsets(text: string): Folded {
  const lower = text.toLowerCase();
  if (MAY_CHANGE.test(lower) || lower.length !== text.length) return foldParts(splitClusters(text), fold);
  // Most lines are ASCII. Each of their characters keeps its place.
  return {
    text: lower,
    originStart: (unit) => Math.min(unit, text.length),
    originEnd: (unit) => Math.min(unit + 1, text.length),
  };
}

/** Returns a text's parts that are folded independently of each other. */
export function splitClusters(text: string): string[] {
  return text.match(CLUSTER) ?? [];
}

/**
 * Characters that normalization may combine with the character before them: marks, invisible characters, voiced sound
 * marks in halfwidth kana, the vowels and final consonants in Hangul, and a vowel in Kirat Rai.
 */
const COMBINING = '[\\p{M}\\p{DI}\\uff9e\\uff9f\\u1160-\\u11ff\\u3131-\\u318e\\uffa0-\\uffdc\\u{16d67}]';
/** At most 31 marks belong to a character, because the time to sort marks is quadratic. */
const MARKED = `${COMBINING}{0,31}`;
const CLUSTER = new RegExp(`[\\0-\\x7f]|[^\\0-\\x7f]${MARKED}`, 'gu');
/** Kana and Hangul syllables, which folding changes only together with a mark after them. */
const STABLE = '\\u3041-\\u3096\\u30a1-\\u30fa\\u30fc\\uac00-\\ud7a3';
/** Characters that stay the same beside any mark: ASCII, the Japanese comma and full stop, and common Han. */
const FIXED = '\\0-\\x7f\\u3001\\u3002\\u4e00-\\u9fff';
/** Occurs in every text that folding changes. Without the flag `u`, the test is faster. */
const MAY_CHANGE = new RegExp(`[^${FIXED}${STABLE}]`);
/** Characters that folding may change. */
const RUN = new RegExp(`(?:[^${FIXED}${STABLE}]${MARKED}|[${STABLE}]${COMBINING}{1,31}){1,8}`, 'gu');

/** Invisible characters, and the line that lengthens Arabic words. */
const IGNORED = /[\p{DI}\u0640]+/gu;
/** Accents and vowel points. Voiced sound marks in kana, and marks in other scripts, distinguish words. */
const ACCENTS =
  /(?:(?![\u3099\u309a])(?=[\p{Mn}\p{Me}])[\p{sc=Inherited}\p{sc=Latin}\p{sc=Greek}\p{sc=Cyrillic}\p{sc=Arabic}\p{sc=Hebrew}\p{sc=Syriac}])+/gu;

/** Letters that Unicode does not decompose. */
const LETTERS: Readonly<Record<string, string>> = {
  æ: 'ae',
  œ: 'oe',
  ø: 'o',
  ł: 'l',
  đ: 'd',
  ð: 'd',
  þ: 'th',
};
const UNDECOMPOSED = /[æœøłđðþ]/g;

/** Forms for the runs that occurred last. */
const forms = new Map<string, string>();
const MAX_FORMS = 20_000;
const MAX_REMEMBERED_LENGTH = 16;

function foldRun(run: string): string {
  const known = forms.get(run);
  if (known !== undefined) return known;
  const form = foldedForm(run);
  if (run.length > MAX_REMEMBERED_LENGTH) return form;
  if (forms.size >= MAX_FORMS) forms.clear();
  forms.set(run, form);
  return form;
}

function foldedForm(run: string): string {
  const decomposed = withoutCase(run.normalize('NFKD')).normalize('NFKD');
  return decomposed
    .replace(IGNORED, '')
    .replace(ACCENTS, '')
    .replace(UNDECOMPOSED, (letter) => LETTERS[letter] ?? letter)
    .normalize('NFC');
}
