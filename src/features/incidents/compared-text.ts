import { foldParts, withoutCase } from '../../core/lib/folding.ts';
import { type Steps, withoutPause } from '../../core/lib/time-slice.ts';
import { numberIn } from '../../core/memory/secrets/grouped-numbers.ts';
import { normalForm, normalizeSteps, type Tokens, tokenizeSteps } from '../../core/memory/secrets/tokens.ts';

/*
 * Compares texts for finds and erasures. By default, they compare the normal form, as for kept-out texts, so that an
 * erasure covers every form of a text that a kept-out entry rejects.
 */

/** A text to find or to erase inside other texts. */
export interface SoughtText {
  text: string;
  /** Whether the text is compared unit by unit, not in its normal form. */
  isExact: boolean;
  /** Only for an exact comparison. The normal form has no case. */
  ignoresCase: boolean;
}

/** Comparison name, as in receipts. */
export type Comparison = 'normalized' | 'exact' | 'exact_ignoring_case';

export function comparisonKind({ isExact, ignoresCase }: Omit<SoughtText, 'text'>): Comparison {
  if (!isExact) return 'normalized';
  return ignoresCase ? 'exact_ignoring_case' : 'exact';
}

/** A content's compared units, and each unit's original range in the content. */
export interface ComparedUnits {
  units: string;
  originStart(unit: number): number;
  originEnd(unit: number): number;
}

/** A text to find in compared units. */
interface Needle {
  units: string;
  /** Whether numbers in groups are compared by their digits. */
  joinsNumbers: boolean;
  /** A part that occurs in the compared form of each content with the text. */
  word: string;
}

const needles = new WeakMap<SoughtText, Needle>();
const SEPARATOR = /^[.\-\u2010-\u2015\u2212]$/;
const MAX_GAP = 3;

function findNeedle(sought: SoughtText): Needle {
  const known = needles.get(sought);
  if (known !== undefined) return known;
  const needle = makeNeedle(sought);
  needles.set(sought, needle);
  return needle;
}

function makeNeedle({ text, isExact, ignoresCase }: SoughtText): Needle {
  if (isExact) {
    const units = ignoresCase ? withoutCase(text) : text;
    return { units, joinsNumbers: false, word: units };
  }
  const tokens = withoutPause(tokenizeSteps(text));
  const joinsNumbers = hasLongNumber(joinTokens(tokens, true).units);
  const words = joinsNumbers ? [] : normalForm(tokens).split(' ');
  const word = words.reduce((longest, each) => (each.length > longest.length ? each : longest), '');
  return { units: joinTokens(tokens, joinsNumbers).units, joinsNumbers, word };
}

function hasLongNumber(units: string): boolean {
  return (units.match(/[0-9]+/g) ?? []).some((digits) => numberIn(digits) !== undefined);
}

/** Returns the units for a text to find. Empty if the text has only white space and invisible characters. */
export function soughtUnits(sought: SoughtText): string {
  return findNeedle(sought).units;
}

/** Whether a content contains the text. */
export function containsText(content: string, sought: SoughtText): boolean {
  return withoutPause(searchSteps(content, sought)) !== undefined;
}

/** Searches a content in steps, and returns its compared units if it contains the text. */
export function* searchSteps(content: string, sought: SoughtText): Steps<ComparedUnits | undefined> {
  const needle = findNeedle(sought);
  if (!(yield* compareForm(content, sought)).includes(needle.word)) return undefined;
  const compared = sought.isExact
    ? exactUnits(content, sought)
    : joinTokens(yield* tokenizeSteps(content), needle.joinsNumbers);
  return compared.units.includes(needle.units) ? compared : undefined;
}

/** Computes a content's compared form. Omits the units' origins, to save time. */
function* compareForm(content: string, { isExact, ignoresCase }: SoughtText): Steps<string> {
  if (!isExact) return yield* normalizeSteps(content);
  return ignoresCase ? withoutCase(content) : content;
}

/** Returns a content's compared units. */
export function comparedUnits(content: string, sought: SoughtText): ComparedUnits {
  if (sought.isExact) return exactUnits(content, sought);
  return joinTokens(withoutPause(tokenizeSteps(content)), findNeedle(sought).joinsNumbers);
}

function exactUnits(content: string, { ignoresCase }: SoughtText): ComparedUnits {
  if (!ignoresCase) return { units: content, originStart: (unit) => unit, originEnd: (unit) => unit + 1 };
  const { text: units, originStart, originEnd } = foldParts(content, withoutCase);
  return { units, originStart, originEnd };
}

/** Joins tokens by spaces, as `normalForm` does, and keeps each unit's origin. */
function joinTokens(tokens: Tokens, joinsNumbers: boolean): ComparedUnits {
  const { normal, starts, ends } = tokens;
  const units = new Uint16Array(normal.length + starts.length);
  const origins = new Int32Array(units.length);
  let size = 0;
  for (let i = 0; i < starts.length; ) {
    const [start, end] = [starts[i] as number, ends[i] as number];
    for (let at = start; at < end; at++) {
      origins[size] = at;
      units[size++] = normal.charCodeAt(at);
    }
    const next = joinsNumbers ? nextGroup(tokens, i) : undefined;
    if (next === undefined && i + 1 < starts.length) {
      // A space is between the two tokens, so it has the origin of the units beside it.
      origins[size] = end - 1;
      units[size++] = 0x20;
    }
    i = next ?? i + 1;
  }
  const text = Buffer.from(units.buffer, 0, 2 * size).toString('utf16le');
  return {
    units: text,
    originStart: (unit) => tokens.originStart(origins[unit] as number),
    originEnd: (unit) => tokens.originEnd(origins[unit] as number),
  };
}

/** Returns the token with the next digit group in a number whose groups are separated. */
function nextGroup({ normal, starts, ends }: Tokens, token: number): number | undefined {
  const end = ends[token] as number;
  if (!isDigit(normal.charCodeAt(end - 1))) return undefined;
  for (let i = token + 1; i < starts.length && (starts[i] as number) - end <= MAX_GAP; i++) {
    const start = starts[i] as number;
    if (isDigit(normal.charCodeAt(start))) return i;
    if (!SEPARATOR.test(normal.slice(start, ends[i]))) return undefined;
  }
  return undefined;
}

function isDigit(unit: number): boolean {
  return unit >= 0x30 && unit <= 0x39;
}
