import { runInSlices, type Steps } from '../../lib/time-slice.ts';

/** The tokens in a text. Token `i` is `normal.slice(starts[i], ends[i])`. */
export interface Tokens {
  /** The normalized text. */
  readonly normal: string;
  readonly starts: Int32Array;
  readonly ends: Int32Array;
  /** Returns the UTF-16 offset in the text at which the origin of a normal-form unit starts. */
  originStart(unit: number): number;
  /** Returns the UTF-16 offset in the text after the origin of a normal-form unit. */
  originEnd(unit: number): number;
}

/** Scripts without spaces between words. */
const UNSPACED = /[\p{sc=Han}\p{sc=Hiragana}\p{sc=Katakana}\p{sc=Thai}\p{sc=Lao}\p{sc=Khmer}\p{sc=Myanmar}]/u;
const LETTER_OR_DIGIT = /[\p{L}\p{M}\p{N}]/u;
/**
 * Characters that normalization may combine with the character before them: marks, invisible characters, voiced sound
 * marks in halfwidth kana, and the Hangul vowels and final consonants.
 */
const COMBINING = /[\p{M}\p{DI}\uff9e\uff9f\u1160-\u11ff]/u;
/**
 * Maximum number of marks that are normalized with their character, as in Unicode's Stream-Safe Text Format. The time
 * to sort marks is quadratic.
 */
const MAX_MARKS = 30;
/**
 * Maximum length for a normal form, in multiples of its origin. A character with a longer form, such as U+FDFA with 18
 * letters, is unchanged, so that a short text cannot become a long one.
 */
const MAX_GROWTH = 3;
const ONLY_ASCII = /^[\0-\x7f]*$/;
const INVISIBLE = /\p{DI}/gu;
const ONLY_INVISIBLE = /^\p{DI}$/u;

// Character classes. A word is a run of letters, marks, and digits.
const SPACE = 1;
const WORD = 2;
/** A character that is a whole token. */
const SINGLE = 3;

/** Classes for UTF-16 units, computed when a unit first occurs; 0 before that. */
const classes = new Uint8Array(0x10000);
/** Normal forms for UTF-16 units that stay one unit; 0 for other units, and for units not seen yet. */
const folded = new Uint16Array(0x10000);
/** Marks units whose normal form depends on their neighbors or is longer. */
const NOT_ALONE = 4;
/** Marks units that may combine with the character before them. */
const COMBINES = 8;
const KIND = 3;

function unitClass(unit: number): number {
  const found = classes[unit] as number;
  if (found !== 0) return found;
  const character = String.fromCharCode(unit);
  const alone = fold(character);
  const combines = COMBINING.test(character);
  const isAlone = alone.length === 1 && character.isWellFormed() && !combines;
  if (isAlone) folded[unit] = alone.charCodeAt(0);
  const made = characterKind(character) | (isAlone ? 0 : NOT_ALONE) | (combines ? COMBINES : 0);
  classes[unit] = made;
  return made;
}

/** Whether a UTF-16 unit is white space. */
export function isWhiteSpace(unit: number): boolean {
  return (unitClass(unit) & KIND) === SPACE;
}

function characterKind(character: string): number {
  if (/\s/.test(character)) return SPACE;
  return LETTER_OR_DIGIT.test(character) && !UNSPACED.test(character) ? WORD : SINGLE;
}

function fold(text: string): string {
  const visible = text.replace(INVISIBLE, '');
  // Upper case first, because `ß` is `SS` only there, and a final sigma is another letter only in lower case.
  const form = visible.normalize('NFKC').toUpperCase().toLowerCase().normalize('NFKC');
  return form.length > MAX_GROWTH * visible.length ? visible : form;
}

/** Number of characters between two looks at the clock. */
export const STEP = 0x4000;

/**
 * Splits a text into the tokens in its normal form. A token is a word of letters, marks, and digits, or any other
 * character that is not white space. Scripts without spaces between words have one token per character.
 *
 * The normal form approximates Unicode's NFKC_Casefold: invisible characters (`Default_Ignorable_Code_Point`) are
 * removed, NFKC is applied, and upper case is folded.
 */
export function tokenize(text: string): Promise<Tokens> {
  return runInSlices(tokenizeSteps(text));
}

/** Computes a text's tokens in steps. */
export function* tokenizeSteps(text: string): Steps<Tokens> {
  const simple = yield* foldUnits(text);
  const { normal, originStart, originEnd } =
    simple === undefined
      ? yield* normalize(text)
      : { normal: simple, originStart: (unit: number) => unit, originEnd: (unit: number) => unit + 1 };
  const { starts, ends } = yield* split(normal);
  return { normal, starts, ends, originStart, originEnd };
}

/** Computes a text's normal form with its white space, in steps. */
export function* normalizeSteps(text: string): Steps<string> {
  return (yield* foldUnits(text)) ?? (yield* normalize(text)).normal;
}

/** Joins a text's tokens by spaces. Two texts match if these forms are equal. */
export function normalForm({ normal, starts, ends }: Tokens, first = 0, last = starts.length): string {
  let joined = '';
  for (let i = first; i < last; i++) joined += `${i === first ? '' : ' '}${normal.slice(starts[i], ends[i])}`;
  return joined;
}

/** Normalizes a text in which each unit stays one unit. Returns undefined for any other text. */
function* foldUnits(text: string): Steps<string | undefined> {
  if (ONLY_ASCII.test(text)) return text.toLowerCase();
  const units = new Uint16Array(text.length);
  for (let i = 0; i < text.length; i++) {
    const unit = text.charCodeAt(i);
    if ((unitClass(unit) & NOT_ALONE) !== 0) return undefined;
    units[i] = folded[unit] as number;
    if (i % STEP === 0) yield;
  }
  return unitsToText(units);
}

function* split(normal: string): Steps<Pick<Tokens, 'starts' | 'ends'>> {
  const tokens = { starts: new Int32Array(normal.length), ends: new Int32Array(normal.length) };
  let count = 0;
  for (let from = 0; from < normal.length; ) {
    const part = splitPart(normal, from, tokens, count);
    from = part.end;
    count = part.count;
    yield;
  }
  return { starts: tokens.starts.subarray(0, count), ends: tokens.ends.subarray(0, count) };
}

/**
 * Adds the tokens from the next part of a normalized text to arrays. A part that would end inside a word extends to the
 * end of the word.
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
      kind = isPair ? characterKind(normal.slice(i, end)) : unitClass(unit) & KIND;
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

/** Normalizes a text character by character, each with its marks. */
function* normalize(text: string): Steps<Pick<Tokens, 'normal' | 'originStart' | 'originEnd'>> {
  const units = new Units(text.length);
  const isAlone = (at: number) => at >= text.length || (unitClass(text.charCodeAt(at)) & NOT_ALONE) === 0;
  let step = STEP;
  for (let i = 0; i < text.length; ) {
    let end = i + 1;
    if (isAlone(i) && isAlone(end)) units.add(folded[text.charCodeAt(i)] as number, i, end);
    else {
      end = clusterEnd(text, i);
      const form = clusterForm(text.slice(i, end));
      for (let j = 0; j < form.length; j++) units.add(form.charCodeAt(j), i, end);
    }
    i = end;
    if (i < step) continue;
    step = i + STEP;
    yield;
  }
  return {
    normal: unitsToText(units.units.subarray(0, units.count)),
    originStart: (unit) => units.starts[unit] as number,
    originEnd: (unit) => units.ends[unit] as number,
  };
}

/** Returns the end of a character with the marks and the invisible characters after it. */
function clusterEnd(text: string, start: number): number {
  let end = start + (isPairAt(text, start) ? 2 : 1);
  for (let marks = 0; end < text.length; ) {
    const next = end + (isPairAt(text, end) ? 2 : 1);
    const isPair = next - end === 2;
    if (!isPair && (unitClass(text.charCodeAt(end)) & COMBINES) === 0) break;
    const character = text.slice(end, next);
    if (isPair && !COMBINING.test(character)) break;
    if (!ONLY_INVISIBLE.test(character) && ++marks > MAX_MARKS) break;
    end = next;
  }
  return end;
}

function isPairAt(text: string, at: number): boolean {
  return (text.codePointAt(at) ?? 0) > 0xffff;
}

/** Recently used forms for characters with marks. */
const forms = new Map<string, string>();
const MAX_FORMS = 4096;

function clusterForm(cluster: string): string {
  const known = forms.get(cluster);
  if (known !== undefined) return known;
  const form = fold(cluster);
  if (forms.size >= MAX_FORMS) forms.clear();
  if (cluster.length <= MAX_MARKS) forms.set(cluster, form);
  return form;
}

/** The units in a normal form, with the ranges of their origins. */
class Units {
  units: Uint16Array;
  starts: Int32Array;
  ends: Int32Array;
  count = 0;

  constructor(length: number) {
    this.units = new Uint16Array(length);
    this.starts = new Int32Array(length);
    this.ends = new Int32Array(length);
  }

  add(unit: number, start: number, end: number): void {
    if (this.count === this.units.length) this.#grow();
    this.units[this.count] = unit;
    this.starts[this.count] = start;
    this.ends[this.count++] = end;
  }

  #grow(): void {
    const { units, starts, ends } = this;
    const length = 2 * units.length;
    this.units = new Uint16Array(length);
    this.units.set(units);
    this.starts = new Int32Array(length);
    this.starts.set(starts);
    this.ends = new Int32Array(length);
    this.ends.set(ends);
  }
}

function unitsToText(units: Uint16Array): string {
  return Buffer.from(units.buffer, units.byteOffset, units.byteLength).toString('utf16le');
}
