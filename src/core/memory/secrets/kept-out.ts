import { pauseAfterSlice, runInSlices } from '../../lib/time-slice.ts';
import { type Finding, GENERIC_KINDS, merge, PLACEHOLDER } from './finding.ts';
import { groupedNumbers, MAX_GROUPS, numberIn } from './grouped-numbers.ts';
import { halfSipHash, type ShortKey } from './half-sip-hash.ts';
import { placeholder, type Range, type Redaction, type SecretScanner } from './secrets.ts';
import {
  isWhiteSpace,
  normalForm,
  normalizeSteps,
  STEP,
  splitPart,
  type Tokens,
  tokenize,
} from './tokens.ts';

/** Keyed hashes for an installation. Without the keys, a text can be neither read nor guessed from its hashes. */
export interface KeyedHashes {
  /** Returns a text's HMAC-SHA-256 in hexadecimal. */
  sign(text: string): string;
  shortKey: ShortKey;
}

/** A text that must not be stored, by its hashes. */
export interface KeptOutEntry {
  /** HMAC of the normal form. */
  hash: string;
  /** Token count. */
  tokens: number;
  /** Tag for the first tokens. For most positions in a text, the tag rules out a match without an HMAC. */
  prefix: number;
}

/** Maximum token count for an entry. */
export const MAX_TOKENS = 256;
/** Minimum number of bytes in an entry's letters and digits. A shorter text would occur in too many others. */
export const MIN_BYTES = 4;
/** Number of tokens in an entry's tag. */
const PREFIX_TOKENS = 4;
/** Number of filter bits for each entry. */
const BITS_PER_ENTRY = 64;

/**
 * Computes the hashes for a text to keep out.
 *
 * @returns the reason if the text is too short or too long
 */
export async function keptOutEntry(
  text: string,
  hashes: KeyedHashes,
): Promise<KeptOutEntry | 'too_short' | 'too_long'> {
  const written = await tokenize(text);
  const number = numberIn(written.normal);
  // A number is kept out by its digits, so that its groups do not matter.
  const tokens = number === undefined ? written : await tokenize(number);
  const count = tokens.starts.length;
  const letters = normalForm(tokens).replace(/[^\p{L}\p{M}\p{N}]/gu, '');
  if (Buffer.byteLength(letters) < MIN_BYTES) return 'too_short';
  if (count > MAX_TOKENS) return 'too_long';
  const tags = tokenTags(tokens, 0, Math.min(count, PREFIX_TOKENS), hashes.shortKey);
  return { hash: hashes.sign(normalForm(tokens)), tokens: count, prefix: combineTags(tags) };
}

function tokenTags({ normal, starts, ends }: Tokens, first: number, last: number, key: ShortKey): number[] {
  const tags: number[] = [];
  for (let i = first; i < last; i++)
    tags.push(halfSipHash(key, normal, starts[i] as number, ends[i] as number));
  return tags;
}

function combineTags(tags: readonly number[]): number {
  return tags.reduce(extendTag, 0);
}

/** Adds the next token's tag to a prefix's tag. */
function extendTag(prefix: number, tag: number): number {
  const mixed = Math.imul(prefix ^ tag, 0x9e3779b1);
  return (mixed << 15) | (mixed >>> 17);
}

/** The entries for one tenant, or the entries for all tenants. */
export class KeptOutList {
  /** Upper bound for the token counts. */
  longest = 0;
  /** Token counts in the tags, as bits. */
  #prefixes = 0;
  readonly #signatures = new Set<string>();
  /** For each tag, the token counts of the entries with the tag, and how many entries have each count. */
  readonly #lengths = new Map<number, Map<number, number>>();
  /** A bit for each tag. Only positions whose bit is set are looked up in `#lengths`. */
  #filter = new Uint32Array(1);

  constructor(entries: Iterable<KeptOutEntry> = []) {
    for (const entry of entries) this.add(entry);
  }

  get size(): number {
    return this.#signatures.size;
  }

  /** Adds an entry that the list does not have. */
  add({ hash, prefix, tokens }: KeptOutEntry): void {
    this.#signatures.add(hash);
    const lengths = this.#lengths.get(prefix) ?? new Map<number, number>();
    this.#lengths.set(prefix, lengths.set(tokens, (lengths.get(tokens) ?? 0) + 1));
    this.#prefixes |= 1 << Math.min(tokens, PREFIX_TOKENS);
    this.longest = Math.max(this.longest, tokens === 1 ? 2 * MAX_GROUPS : tokens);
    if (this.size * BITS_PER_ENTRY > this.#filter.length * 32) {
      this.#filter = new Uint32Array(2 * this.#filter.length * (BITS_PER_ENTRY / 32));
      for (const each of this.#lengths.keys()) this.#mark(each);
    } else this.#mark(prefix);
  }

  /** Removes an entry. Its bit in the filter remains, which costs a lookup where the tag occurs. */
  remove({ hash, prefix, tokens }: KeptOutEntry): void {
    if (!this.#signatures.delete(hash)) return;
    const lengths = this.#lengths.get(prefix);
    const left = (lengths?.get(tokens) ?? 0) - 1;
    if (left > 0) lengths?.set(tokens, left);
    else lengths?.delete(tokens);
    if (lengths?.size === 0) this.#lengths.delete(prefix);
  }

  #mark(prefix: number): void {
    const word = (prefix >>> 5) & (this.#filter.length - 1);
    this.#filter[word] = (this.#filter[word] as number) | (1 << (prefix & 31));
  }

  /** Whether an entry may be this one token. */
  hasToken(tag: number): boolean {
    return this.#lengths.get(combineTags([tag]))?.has(1) ?? false;
  }

  /** Whether an entry is one token, such as a number. */
  get hasTokens(): boolean {
    return (this.#prefixes & 2) !== 0;
  }

  /**
   * Returns the first position in a token range at which an entry may start, or the end of the range.
   *
   * @param count token count
   */
  nextCandidate(tags: Int32Array, from: number, to: number, count: number): number {
    const filter = this.#filter;
    const prefixes = this.#prefixes;
    for (let at = from; at < to; at++) {
      const end = Math.min(at + PREFIX_TOKENS, count);
      let prefix = 0;
      for (let i = at; i < end; i++) {
        prefix = extendTag(prefix, tags[i] as number);
        if (((prefixes >>> (i + 1 - at)) & 1) === 0) continue;
        const word = filter[(prefix >>> 5) & (filter.length - 1)] as number;
        if (((word >>> (prefix & 31)) & 1) !== 0 && this.#lengths.has(prefix)) return at;
      }
    }
    return to;
  }

  /** Returns the token counts for the entries whose tag matches at a position. */
  lengthsAt(tags: Int32Array, at: number): number[] {
    const window = [...tags.subarray(at, at + PREFIX_TOKENS)];
    return window.flatMap((_, i) => [
      ...(this.#lengths.get(combineTags(window.slice(0, i + 1)))?.keys() ?? []),
    ]);
  }

  has(signature: string): boolean {
    return this.#signatures.has(signature);
  }
}

/** Number of tokens between two looks at the clock. */
const TOKENS_A_STEP = 1024;
const NUMBERS_A_STEP = 256;
const ASCII = 128;
/** Occurs in every text with a number in groups. */
const GROUPED_DIGITS = /[0-9]{3}[^0-9a-z]{1,3}[0-9]{3}/;

/** Memory for the tokens in a part of a text. */
const scratch = {
  starts: new Int32Array(STEP),
  ends: new Int32Array(STEP),
  tags: new Int32Array(STEP + PREFIX_TOKENS),
};

const tagsByHashes = new WeakMap<KeyedHashes, Int32Array>();

/** Returns the tag for each token that is one ASCII character, by character code. */
function asciiTags(hashes: KeyedHashes): Int32Array {
  const known = tagsByHashes.get(hashes);
  if (known !== undefined) return known;
  const tags = Int32Array.from({ length: ASCII }, (_, code) =>
    halfSipHash(hashes.shortKey, String.fromCharCode(code), 0, 1),
  );
  tagsByHashes.set(hashes, tags);
  return tags;
}

/** Finds the texts that lists keep out: all token windows whose hash is an entry. */
export class KeptOutTexts {
  readonly #lists: readonly KeptOutList[];
  readonly #hashes: KeyedHashes;
  readonly #asciiTags: Int32Array;

  constructor(lists: readonly KeptOutList[], hashes: KeyedHashes) {
    this.#lists = lists;
    this.#hashes = hashes;
    this.#asciiTags = asciiTags(hashes);
  }

  /**
   * Returns the texts that are kept out, sorted and without overlaps.
   *
   * @param near only texts that touch this range are needed
   */
  async scan(text: string, near?: Range): Promise<Finding[]> {
    const { start, end } = near === undefined ? { start: 0, end: text.length } : this.#widen(text, near);
    // A placeholder from the scanner is replaced by a character that no entry contains.
    const part = text.slice(start, end).replace(PLACEHOLDER, (known) => '\0'.repeat(known.length));
    const mayOccur = await this.#mayOccurIn(part);
    if (!mayOccur.tokens && !mayOccur.numbers) return [];
    const tokens = await tokenize(part);
    const findings = mayOccur.numbers ? await this.#numbersIn(tokens, start) : [];
    if (!mayOccur.tokens) return merge(findings, GENERIC_KINDS);
    const count = tokens.starts.length;
    const tags = new Int32Array(count);
    for (let i = 0; i < count; i += TOKENS_A_STEP) {
      this.#addTags(tokens, i, Math.min(i + TOKENS_A_STEP, count), tags, i);
      await pauseAfterSlice();
    }
    for (const list of this.#lists) {
      for (let i = 0; i < count; await pauseAfterSlice()) {
        const to = Math.min(i + TOKENS_A_STEP, count);
        const at = list.nextCandidate(tags, i, to, count);
        i = at === to ? to : at + 1;
        if (at === to) continue;
        const longest = await this.#longestAt(tokens, at, list, list.lengthsAt(tags, at));
        if (longest > 0) findings.push({ kind: 'kept_out', ...tokenRange(tokens, at, longest, start) });
      }
    }
    return merge(findings, GENERIC_KINDS);
  }

  /** Whether any entry's tag matches anywhere. Few texts have a match and need more than this pass. */
  async #mayOccurIn(text: string): Promise<{ tokens: boolean; numbers: boolean }> {
    const normal = await runInSlices(normalizeSteps(text));
    return { tokens: await this.#mayHaveTokens(normal), numbers: await this.#mayHaveNumber(normal) };
  }

  async #mayHaveNumber(normal: string): Promise<boolean> {
    const lists = this.#lists.filter(({ hasTokens }) => hasTokens);
    if (lists.length === 0 || !GROUPED_DIGITS.test(normal)) return false;
    let count = 0;
    for (const { digits } of groupedNumbers(normal)) {
      const tag = halfSipHash(this.#hashes.shortKey, digits, 0, digits.length);
      if (lists.some((list) => list.hasToken(tag))) return true;
      if (++count % NUMBERS_A_STEP === 0) await pauseAfterSlice();
    }
    return false;
  }

  /** Finds numbers that are written in groups. */
  async #numbersIn(tokens: Tokens, offset: number): Promise<Finding[]> {
    const findings: Finding[] = [];
    let count = 0;
    for (const { digits, start, end } of groupedNumbers(tokens.normal)) {
      if (++count % NUMBERS_A_STEP === 0) await pauseAfterSlice();
      const tag = halfSipHash(this.#hashes.shortKey, digits, 0, digits.length);
      const lists = this.#lists.filter((list) => list.hasToken(tag));
      if (lists.length === 0) continue;
      const signature = this.#hashes.sign(digits);
      if (!lists.some((list) => list.has(signature))) continue;
      const range = { start: offset + tokens.originStart(start), end: offset + tokens.originEnd(end - 1) };
      findings.push({ kind: 'kept_out', ...range });
    }
    return findings;
  }

  async #mayHaveTokens(normal: string): Promise<boolean> {
    // The last tags before the part. An entry may start there and continue in the part.
    let before = new Int32Array(0);
    for (let from = 0; from < normal.length; await pauseAfterSlice()) {
      const { end, count } = splitPart(normal, from, scratch, 0);
      const { tags } = scratch;
      tags.set(before);
      this.#addTags({ normal, ...scratch }, 0, count, tags, before.length);
      const total = before.length + count;
      if (this.#lists.some((list) => list.nextCandidate(tags, 0, total, total) < total)) return true;
      before = tags.slice(Math.max(0, total - PREFIX_TOKENS + 1), total);
      from = end;
    }
    return false;
  }

  /** Writes the tags for a token range to an array. */
  #addTags(
    { normal, starts, ends }: Pick<Tokens, 'normal' | 'starts' | 'ends'>,
    from: number,
    to: number,
    tags: Int32Array,
    at: number,
  ): void {
    const key = this.#hashes.shortKey;
    const asciiTags = this.#asciiTags;
    for (let i = from; i < to; i++) {
      const start = starts[i] as number;
      const end = ends[i] as number;
      const unit = normal.charCodeAt(start);
      const isAscii = end - start === 1 && unit < ASCII;
      tags[at + i - from] = isAscii ? (asciiTags[unit] as number) : halfSipHash(key, normal, start, end);
    }
  }

  /** Returns the token count for the longest entry at a position, or 0. */
  async #longestAt(
    tokens: Tokens,
    at: number,
    list: KeptOutList,
    lengths: readonly number[],
  ): Promise<number> {
    let longest = 0;
    for (const length of lengths) {
      if (length <= longest || at + length > tokens.starts.length) continue;
      if (list.has(this.#hashes.sign(normalForm(tokens, at, at + length)))) longest = length;
      await pauseAfterSlice();
    }
    return longest;
  }

  /**
   * Extends a range by as many words as the longest entry has tokens. A word between white space has one token or more,
   * so the result contains each entry that touches the range.
   */
  #widen(text: string, { start, end }: Range): Range {
    const longest = Math.max(...this.#lists.map((list) => list.longest));
    return { start: wordsBefore(text, start, longest), end: wordsAfter(text, end, longest) };
  }
}

function tokenRange(tokens: Tokens, at: number, length: number, offset: number): Range {
  return {
    start: offset + tokens.originStart(tokens.starts[at] as number),
    end: offset + tokens.originEnd((tokens.ends[at + length - 1] as number) - 1),
  };
}

function isSpace(text: string, at: number): boolean {
  return isWhiteSpace(text.charCodeAt(at));
}

function wordsBefore(text: string, at: number, words: number): number {
  let from = at;
  for (let left = words + 1; left > 0 && from > 0; left--) {
    while (from > 0 && isSpace(text, from - 1)) from--;
    while (from > 0 && !isSpace(text, from - 1)) from--;
  }
  return from;
}

function wordsAfter(text: string, at: number, words: number): number {
  let to = at;
  for (let left = words + 1; left > 0 && to < text.length; left--) {
    while (to < text.length && isSpace(text, to)) to++;
    while (to < text.length && !isSpace(text, to)) to++;
  }
  return to;
}

/**
 * Returns how to handle secrets and kept-out texts; undefined if every text may be stored. The mode `store` allows
 * secrets, but still rejects kept-out texts.
 *
 * @param keptOut undefined if no text is kept out
 */
export function redactionFor(
  mode: 'store' | 'mask' | 'reject',
  scanner: SecretScanner,
  keptOut: KeptOutTexts | undefined,
): Redaction | undefined {
  if (keptOut === undefined) return mode === 'store' ? undefined : { mode, scanner };
  if (mode === 'store') return { mode: 'reject', scanner: keptOut };
  return {
    mode,
    scanner: {
      async scan(text, near) {
        const secrets = (await scanner.scan(text)) as Finding[];
        return merge([...secrets, ...(await keptOut.scan(text, near))], GENERIC_KINDS);
      },
    },
  };
}

/**
 * Whether a stored text is `text` with texts that are kept out masked. Needs no keys, so it accepts any masked texts.
 */
export function isMaskedForm(stored: string, text: string): boolean {
  const [first = '', ...others] = stored.split(placeholder('kept_out'));
  const last = others.pop();
  if (last === undefined || !text.startsWith(first)) return stored === text;
  let at = first.length;
  for (const part of others) {
    // A masked text is not empty.
    const found = text.indexOf(part, at + 1);
    if (found === -1) return false;
    at = found + part.length;
  }
  return at + 1 + last.length <= text.length && text.endsWith(last);
}
