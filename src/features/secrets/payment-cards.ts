import type { Finding } from '../../core/memory/secrets/finding.ts';

/**
 * Issuer prefixes with their card number lengths, from the networks' published ranges (collected in
 * https://en.wikipedia.org/wiki/Payment_card_number#Issuer_identification_number_(IIN)). Further ranges would cause
 * false positives, because one number in ten passes the Luhn check by chance.
 */
const ISSUERS: readonly { from: string; to: string; lengths: readonly number[] }[] = [
  { from: '4', to: '4', lengths: [13, 16, 19] }, // Visa
  { from: '51', to: '55', lengths: [16] }, // Mastercard
  { from: '2221', to: '2720', lengths: [16] }, // Mastercard
  { from: '34', to: '34', lengths: [15] }, // American Express
  { from: '37', to: '37', lengths: [15] }, // American Express
  { from: '6011', to: '6011', lengths: [16, 17, 18, 19] }, // Discover
  { from: '644', to: '659', lengths: [16, 17, 18, 19] }, // Discover, RuPay
  { from: '3528', to: '3589', lengths: [16, 17, 18, 19] }, // JCB
  { from: '300', to: '305', lengths: [14, 16] }, // Diners Club
  { from: '3095', to: '3095', lengths: [14, 16] }, // Diners Club
  { from: '36', to: '36', lengths: [14, 16] }, // Diners Club
  { from: '38', to: '39', lengths: [14, 16] }, // Diners Club
  { from: '62', to: '62', lengths: [16, 17, 18, 19] }, // UnionPay
  { from: '2200', to: '2204', lengths: [16, 17, 18, 19] }, // Mir
  ...['5018', '5020', '5038', '5893', '6304', '6759', '6761', '6762', '6763'].map((prefix) => ({
    from: prefix,
    to: prefix,
    lengths: [13, 14, 15, 16, 17, 18, 19], // Maestro
  })),
];

const SHORTEST = 13;
const LONGEST = 19;
/** Maximum length for a run of four-digit groups: two card numbers. A longer run is a table of numbers. */
const MOST_FOURS = 8;

// A single character class between two digits prevents backtracking. Text from the web and from PDFs contains
// non-breaking spaces and hyphens, figure spaces, and thin spaces.
const DIGITS_AND_SEPARATORS = /\d[\d .\u00a0\u2007\u2009-\u2011\u202f-]{11,}\d/g;

interface Group {
  start: number;
  end: number;
}

/** Detects payment card numbers: 13 to 19 digits, unseparated or in groups with the same single separator. */
export function findPaymentCards(text: string): Finding[] {
  const findings: Finding[] = [];
  for (const { 0: run, index } of text.matchAll(DIGITS_AND_SEPARATORS)) {
    for (const chain of findChains(run, index)) findInChain(text, chain, findings);
  }
  return findings;
}

/** Splits `run` into chains of digit groups, wherever more than one separator is between two groups. */
function findChains(run: string, offset: number): Group[][] {
  const chains: Group[][] = [];
  let lastEnd = Number.NEGATIVE_INFINITY;
  for (const { 0: digits, index } of run.matchAll(/\d+/g)) {
    const group = { start: offset + index, end: offset + index + digits.length };
    if (group.start - lastEnd === 1) chains.at(-1)?.push(group);
    else chains.push([group]);
    lastEnd = group.end;
  }
  return chains;
}

function findInChain(text: string, chain: readonly Group[], findings: Finding[]): void {
  let foursEnd = 0;
  let inTable = false;
  for (let first = 0; first < chain.length; first++) {
    if (first >= foursEnd) {
      foursEnd = first;
      while (groupSize(chain[foursEnd]) === 4) foursEnd++;
      inTable = foursEnd - first > MOST_FOURS;
    }
    const size = groupSize(chain[first]);
    if (size < SHORTEST && (size !== 4 || inTable)) continue;
    const last = findLastCardGroup(text, chain, first);
    if (last === undefined) continue;
    findings.push({
      kind: 'payment_card',
      start: (chain[first] as Group).start,
      end: (chain[last] as Group).end,
    });
    first = last;
  }
}

function groupSize(group: Group | undefined): number {
  return group === undefined ? 0 : group.end - group.start;
}

/** Returns the last group in the longest card number that starts with group `first`, or undefined. */
function findLastCardGroup(text: string, chain: readonly Group[], first: number): number | undefined {
  let found: number | undefined;
  let digits = '';
  for (let last = first; last < chain.length; last++) {
    const group = chain[last] as Group;
    digits += text.slice(group.start, Math.min(group.end, group.start + LONGEST + 1));
    if (digits.length > LONGEST) break;
    if (last > first && !isGrouped(text, chain, first, last)) break;
    if (isCardNumber(digits) && standsAlone(text, chain, first, last)) found = last;
  }
  return found;
}

/**
 * Whether the last group may belong to the card. Cards are grouped 4-4-4-4, 4-6-5, or similar, with the same separator
 * everywhere.
 */
function isGrouped(text: string, chain: readonly Group[], first: number, last: number): boolean {
  const start = chain[first] as Group;
  const group = chain[last] as Group;
  return groupSize(start) === 4 && groupSize(group) <= 7 && text[group.start - 1] === text[start.end];
}

/** Whether the number is separate, and not part of a word, a decimal, or an ID with groups joined by `-`. */
function standsAlone(text: string, chain: readonly Group[], first: number, last: number): boolean {
  const { start } = chain[first] as Group;
  const { end } = chain[last] as Group;
  const before = text.slice(Math.max(0, start - 2), start);
  const after = text.slice(end, end + 2);
  // Rejects adjacent letters and digits in any script, `_`, `+`, `.` between digits, and a dash followed by a digit.
  if (/[\p{L}\p{N}_+]$|\d[.-]$|\.$/u.test(before) || /^[\p{L}\p{N}_+]|^[.-]\d/u.test(after)) return false;
  if (!before.endsWith('-') && !after.startsWith('-')) return true;
  // A number joined to a word (`visa-4111…`) may be a card, but a number joined to other digits, as in a UUID, is not.
  const id = /[\w-]{0,40}$/.exec(text.slice(Math.max(0, start - 40), start))?.[0] ?? '';
  const rest = /^[\w-]{0,40}/.exec(text.slice(end, end + 40))?.[0] ?? '';
  return !/\d/.test(id + rest);
}

/** Whether 13 to 19 digits are a card number: a known issuer with this length, and a valid Luhn checksum. */
function isCardNumber(digits: string): boolean {
  if (digits.length < SHORTEST || digits.length > LONGEST) return false;
  const known = ISSUERS.some(
    ({ from, to, lengths }) =>
      lengths.includes(digits.length) &&
      digits.slice(0, from.length) >= from &&
      digits.slice(0, to.length) <= to,
  );
  // A 13-digit number is far more often an article number (EAN) than one of the last Visa cards with that length.
  return known && passesLuhn(digits) && !(digits.length === 13 && isArticleNumber(digits));
}

/** Luhn checksum, ISO/IEC 7812-1, annex B. */
function passesLuhn(digits: string): boolean {
  let sum = 0;
  for (let i = 0; i < digits.length; i++) {
    const digit = Number(digits[digits.length - 1 - i]);
    sum += i % 2 === 0 ? digit : digit * 2 - (digit > 4 ? 9 : 0);
  }
  return sum % 10 === 0;
}

/** EAN-13 checksum, GS1 General Specifications 7.9: weights 1 and 3. */
function isArticleNumber(digits: string): boolean {
  let sum = 0;
  for (let i = 0; i < digits.length; i++) sum += Number(digits[i]) * (i % 2 === 0 ? 1 : 3);
  return sum % 10 === 0;
}
