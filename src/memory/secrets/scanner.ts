import { setImmediate } from 'node:timers/promises';
import { findAssignments } from './assignments.ts';
import { type Detector, type Finding, GENERIC_KINDS, merge, SECRET_KINDS } from './finding.ts';
import { findPaymentCards } from './payment-cards.ts';
import { findPrivateKeys } from './private-keys.ts';
import { placeholder, type Secret, type SecretScanner } from './secrets.ts';
import { findTokens } from './token-formats.ts';
import { findUrlCredentials } from './url-credentials.ts';

const DETECTORS: readonly Detector[] = [
  findTokens,
  findAssignments,
  findUrlCredentials,
  findPrivateKeys,
  findPaymentCards,
];

/** For longer texts (in UTF-16 units), the scanner yields to other requests between two detectors. */
const LONG_TEXT = 128 * 1024;

/** A secret can hide another one, as two tokens without a space between them do. */
const MAX_PASSES = 8;

const PLACEHOLDER = new RegExp(
  SECRET_KINDS.map((kind) => placeholder(kind).replace(/[[\]]/g, '\\$&')).join('|'),
  'g',
);

/**
 * The scanner behind `SECRETS`. It uses no network and keeps no state. What it finds and misses is listed in
 * src/memory/secrets/scanner.test.ts.
 */
export function createSecretScanner(): SecretScanner {
  return { scan };
}

async function scan(text: string): Promise<Secret[]> {
  let found: Finding[] = [];
  // Findings are replaced by spaces, which keep the offsets, and the text is scanned again until nothing new appears:
  // scanning masked text must find nothing.
  let rest = text.replace(PLACEHOLDER, (known) => ' '.repeat(known.length));
  for (let pass = 1; pass <= MAX_PASSES; pass++) {
    const fresh = await findAll(rest);
    if (fresh.length === 0) break;
    found = merge([...found, ...(pass === 1 ? fresh : wholeWords(rest, fresh))], GENERIC_KINDS);
    rest = blank(rest, found);
  }
  return found;
}

async function findAll(text: string): Promise<Finding[]> {
  const findings: Finding[] = [];
  for (const detect of DETECTORS) {
    for (const finding of await detect(text)) findings.push(finding);
    if (text.length > LONG_TEXT) await setImmediate();
  }
  return merge(findings, GENERIC_KINDS);
}

function blank(text: string, findings: readonly Finding[]): string {
  let blanked = '';
  let from = 0;
  for (const { start, end } of findings) {
    blanked += text.slice(from, start) + ' '.repeat(end - start);
    from = end;
  }
  return blanked + text.slice(from);
}

const WORD = /[\p{L}\p{N}\p{Cs}_+/=.~%-]/u;

/**
 * Extends findings that only appear once their neighbors are blank over the whole word: text joined to a secret is
 * likely secret too, and a long chain takes one pass instead of one pass per link.
 *
 * @param findings as `merge` returns them
 */
function wholeWords(text: string, findings: readonly Finding[]): Finding[] {
  let word = { start: 0, end: 0 };
  return findings.map((finding) => {
    // Many findings can be in one word, whose ends are searched once.
    if (finding.end > word.end) {
      let { start, end } = finding;
      while (start > word.end && WORD.test(text[start - 1] as string)) start--;
      while (end < text.length && WORD.test(text[end] as string)) end++;
      word = { start, end };
    }
    return { ...finding, ...word };
  });
}
