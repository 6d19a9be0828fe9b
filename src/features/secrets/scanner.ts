import { setImmediate } from 'node:timers/promises';
import {
  type Detector,
  type Finding,
  GENERIC_KINDS,
  merge,
  PLACEHOLDER,
} from '../../core/memory/secrets/finding.ts';
import type { Secret, SecretScanner } from '../../core/memory/secrets/secrets.ts';
import { findAssignments } from './assignments.ts';
import { findPaymentCards } from './payment-cards.ts';
import { findPrivateKeys } from './private-keys.ts';
import { findTokens } from './token-formats.ts';
import { findUrlCredentials } from './url-credentials.ts';

const DETECTORS: readonly Detector[] = [
  findTokens,
  findAssignments,
  findUrlCredentials,
  findPrivateKeys,
  findPaymentCards,
];

/** Length in UTF-16 units above which the scanner yields to other requests between two detectors. */
const LONG_TEXT = 128 * 1024;

/** Limit on passes. One secret can hide another, such as two tokens without a space in between. */
const MAX_PASSES = 8;

/**
 * Creates the scanner for `SECRETS`. It uses no network and keeps no state. src/features/secrets/scanner.test.ts lists
 * the secrets that it finds and misses.
 */
export function createSecretScanner(): SecretScanner {
  return { scan };
}

async function scan(text: string): Promise<Secret[]> {
  let found: Finding[] = [];
  // Each character in a finding is replaced by a space, and the text is scanned again until no secret is found. This
  // guarantees that a scan of masked text finds no secret.
  let rest = text.replace(PLACEHOLDER, (known) => ' '.repeat(known.length));
  for (let pass = 1; pass <= MAX_PASSES; pass++) {
    const fresh = await findAll(rest);
    if (fresh.length === 0) break;
    found = merge([...found, ...(pass === 1 ? fresh : wholeWords(rest, fresh))], GENERIC_KINDS);
    rest = maskFindings(rest, found);
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

function maskFindings(text: string, findings: readonly Finding[]): string {
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
 * Extends the findings from later passes to the whole word. Text joined to a secret is probably secret too, and a long
 * chain takes one pass instead of one pass per link.
 *
 * @param findings sorted and disjoint, as `merge` returns them
 */
function wholeWords(text: string, findings: readonly Finding[]): Finding[] {
  let word = { start: 0, end: 0 };
  return findings.map((finding) => {
    // Many findings can be in one word, so its boundaries are searched once.
    if (finding.end > word.end) {
      let { start, end } = finding;
      while (start > word.end && WORD.test(text[start - 1] as string)) start--;
      while (end < text.length && WORD.test(text[end] as string)) end++;
      word = { start, end };
    }
    return { ...finding, ...word };
  });
}
