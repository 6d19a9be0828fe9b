import { endOfSlice } from '../../lib/time-slice.ts';

/** The tokens of a text. Token `i` is `normal.slice(starts[i], ends[i])`. */
export interface Tokens {
  /** The normalized text. */
  readonly normal: string;
  readonly starts: Int32Array;
  readonly ends: Int32Array;
  /** Returns the UTF-16 offset in the text at which a token starts. */
  startInText(token: number): number;
  /** Returns the UTF-16 offset in the text after a token. */
  endInText(token: number): number;
}

/** Scripts without spaces between words. */
const UNSPACED = /[\p{sc=Han}\p{sc=Hiragana}\p{sc=Katakana}\p{sc=Thai}\p{sc=Lao}\p{sc=Khmer}\p{sc=Myanmar}]/u;
const LETTER_OR_DIGIT = /[\p{L}\p{M}\p{N}]/u;
/**
 * Characters that normalization may combine with the character before them: marks, invisible characters, voiced sound
 * marks of halfwidth kana, and the vowels and final consonants of Hangul.
 */
const COMBINING = /[\p{M}\p{DI}\uff9e\uff9f\u1160-\u11ff]/u;
/** A character with the characters that may combine with it. */
const CLUSTER = /[\s\S][\p{M}\p{DI}\uff9e\uff9f\u1160-\u11ff]*/uy;
const ONLY_ASCII = /^[\0-\x7f]*$/;
const INVISIBLE = /\p{DI}/gu;

// Classes of characters. A word is a run of letters, marks, and digits.
const SPACE = 1;
const WORD = 2;
/** A character that is a whole token. */
const SINGLE = 3;

/** Classes of UTF-16 units, computed when a unit first occurs; 0 before that. */
const classes = new Uint8Array(0x10000);
/** Normal forms of UTF-16 units that stay one unit; 0 for other units, and for units not seen yet. */
const folded = new Uint16Array(0x10000);
/** Marks units whose normal form depends on their neighbors or is longer. */
const NOT_ALONE = 4;

function classOf(unit: number): number {
  const found = classes[unit] as number;
  if (found !== 0) return found;
  const character = String.fromCharCode(unit);
  const alone = fold(character);
  const isAlone = alone.length === 1 && character.isWellFormed() && !COMBINING.test(character);
  if (isAlone) folded[unit] = alone.charCodeAt(0);
  const made = kindOf(character) | (isAlone ? 0 : NOT_ALONE);
  classes[unit] = made;
  return made;
}

/** Whether a UTF-16 unit is white space. */
export function isWhiteSpace(unit: number): boolean {
  return (classOf(unit) & ~NOT_ALONE) === SPACE;
}

function kindOf(character: string): number {
  if (/\s/.test(character)) return SPACE;
  return LETTER_OR_DIGIT.test(character) && !UNSPACED.test(character) ? WORD : SINGLE;
}

function fold(text: string): string {
  const visible = text.replace(INVISIBLE, '').normalize('NFKC');
  // Upper case first, because `ß` is `SS` only there, and a final sigma is another letter only in lower case.
  return visible.toUpperCase().toLowerCase().normalize('NFKC');
}

/** Number of characters between two looks at the clock. */
export const STEP = 0x4000;

/**
 * Splits a text into the tokens of its normal form. A token is a word of letters, marks, and digits, or any other
 * character that is not white space. Scripts without spaces between words have one token per character.
 *
 * The normal form approximates NFKC_Casefold of Unicode: invisible characters (`Default_Ignorable_Code_Point`) are
 * removed, NFKC is applied, and upper case is folded.
 */
export async function tokensOf(text: string): Promise<Tokens> {
  const simple = await foldUnits(text);
  if (simple !== undefined) {
    const { starts, ends } = await split(simple);
    const startInText = (token: number) => starts[token] as number;
    return { normal: simple, starts, ends, startInText, endInText: (token) => ends[token] as number };
  }
  const { normal, from, to } = await normalize(text);
  const { starts, ends } = await split(normal);
  return {
    normal,
    starts,
    ends,
    startInText: (token) => from[starts[token] as number] as number,
    endInText: (token) => to[(ends[token] as number) - 1] as number,
  };
}

/** Returns the normal form of a text with its white space, without the origin of its units. */
export async function normalized(text: string): Promise<string> {
  return (await foldUnits(text)) ?? (await normalize(text)).normal;
}

/** Joins the tokens of a text by spaces. Two texts match if these forms are equal. */
export function normalForm({ normal, starts, ends }: Tokens, first = 0, last = starts.length): string {
  let joined = '';
  for (let i = first; i < last; i++) joined += `${i === first ? '' : ' '}${normal.slice(starts[i], ends[i])}`;
  return joined;
}

/** Normalizes a text in which each unit stays one unit. Returns undefined for any other text. */
async function foldUnits(text: string): Promise<string | undefined> {
  if (ONLY_ASCII.test(text)) return text.toLowerCase();
  const units = new Uint16Array(text.length);
  for (let i = 0; i < text.length; i++) {
    const unit = text.charCodeAt(i);
    if ((classOf(unit) & NOT_ALONE) !== 0) return undefined;
    units[i] = folded[unit] as number;
    if (i % STEP === 0) await endOfSlice();
  }
  return textOf(units);
}

async function split(normal: string): Promise<Pick<Tokens, 'starts' | 'ends'>> {
  const tokens = { starts: new Int32Array(normal.length), ends: new Int32Array(normal.length) };
  let count = 0;
  for (let from = 0; from < normal.length; ) {
    const part = splitPart(normal, from, tokens, count);
    from = part.end;
    count = part.count;
    await endOfSlice();
  }
  return { starts: tokens.starts.subarray(0, count), ends: tokens.ends.subarray(0, count) };
}

/**
 * Adds the tokens of the next part of a normalized text to arrays. Only at its end can the last token of a part be
 * longer than the part.
 *
 * @returns the end of the part, and the number of tokens in the arrays
 */
export function splitPart(
  normal: string,
  from: number,
  { starts, ends }: Pick<Tokens, 'starts' | 'ends'>,
  before: number,
): { end: number; count: number } {
  const to = from + STEP;
  let count = before;
  let isInWord = false;
  let i = from;
  for (let end = i; i < normal.length && (i < to || isInWord); i = end) {
    const unit = normal.charCodeAt(i);
    end = i + 1;
    let kind = classes[unit] as number;
    if (kind !== WORD && kind !== SPACE) {
      const isPair = unit >= 0xd800 && unit < 0xdc00 && end < normal.length;
      if (isPair) end++;
      kind = isPair ? kindOf(normal.slice(i, end)) : classOf(unit) & ~NOT_ALONE;
    }
    if (kind === WORD) {
      if (!isInWord) starts[count] = i;
      isInWord = true;
      continue;
    }
    if (isInWord) ends[count++] = i;
    isInWord = false;
    if (kind === SPACE) continue;
    starts[count] = i;
    ends[count++] = end;
  }
  if (isInWord) ends[count++] = i;
  return { end: i, count };
}

/** Normalizes a text, and returns the start and the end of the origin of each unit of the normal form. */
async function normalize(text: string): Promise<{ normal: string; from: number[]; to: number[] }> {
  const units: number[] = [];
  const from: number[] = [];
  const to: number[] = [];
  const isAlone = (at: number) => at >= text.length || (classOf(text.charCodeAt(at)) & NOT_ALONE) === 0;
  let step = STEP;
  for (let i = 0; i < text.length; ) {
    let end = i + 1;
    if (isAlone(i) && isAlone(end)) units.push(folded[text.charCodeAt(i)] as number);
    else {
      CLUSTER.lastIndex = i;
      const cluster = CLUSTER.exec(text)?.[0] ?? '';
      end = i + cluster.length;
      const normal = fold(cluster);
      for (let j = 0; j < normal.length; j++) units.push(normal.charCodeAt(j));
    }
    while (from.length < units.length) {
      from.push(i);
      to.push(end);
    }
    i = end;
    if (i < step) continue;
    step = i + STEP;
    await endOfSlice();
  }
  return { normal: textOf(Uint16Array.from(units)), from, to };
}

function textOf(units: Uint16Array): string {
  return Buffer.from(units.buffer).toString('utf16le');
}
