import type { Secret } from '../memory/secrets.ts';
import type { SecretKind } from './kinds.ts';

/** A `Secret` of a known kind, as a detector reports it. Findings may overlap and come in any order. */
export interface Finding extends Secret {
  kind: SecretKind;
}

/** Finds one sort of secret. Must take linear time for any `text`. */
export type Detector = (text: string) => Finding[] | Promise<Finding[]>;

const PLACEHOLDERS = [
  /\$\{|\{\{|\$\(/, // ${TOKEN}, {{ token }}, $(pass show token)
  /^\$(?:[A-Za-z_]+|[A-Z0-9_]+)$|^%\w+%$/, // $token, $TOKEN_2, %TOKEN%
  /^[<{[(].*[>}\])]$/, // <API_KEY>
  /^[A-Z]+(?:_[A-Z]+)+$|^(?:your|insert|replace)[-_][a-z_-]+$/, // REPLACE_WITH_PASSWORD, your-api-key
  /^(.)\1{3,}$|([A-Za-z0-9*.])\2{9,}/, // ****, sk_live_xxxxxxxxxxxx
];

/** Whether a value is a placeholder for a secret. */
export function isPlaceholder(value: string): boolean {
  return PLACEHOLDERS.some((pattern) => pattern.test(value));
}

/** Passwords that are examples. */
const EXAMPLE_PASSWORDS = new Set(
  'password passwd pass pwd secret mypassword yourpassword your_password your-password changeme example admin root user username test token'.split(
    ' ',
  ),
);

export function isExamplePassword(value: string): boolean {
  return EXAMPLE_PASSWORDS.has(value.toLowerCase());
}

/**
 * Sorts findings and merges overlapping ones into one that covers both, so that no part of either remains. The kind of the longer one
 * wins, and a specific kind wins over a generic one.
 */
export function merge(findings: readonly Finding[], generic: ReadonlySet<SecretKind>): Finding[] {
  const rank = (finding: Finding) => (generic.has(finding.kind) ? 0 : finding.end - finding.start);
  const merged: { span: Finding; best: number }[] = [];
  for (const finding of findings.toSorted((a, b) => a.start - b.start || b.end - a.end)) {
    const last = merged.at(-1);
    if (last === undefined || finding.start >= last.span.end) {
      merged.push({ span: { ...finding }, best: rank(finding) });
      continue;
    }
    last.span.end = Math.max(last.span.end, finding.end);
    if (rank(finding) > last.best) {
      last.span.kind = finding.kind;
      last.best = rank(finding);
    }
  }
  return merged.map(({ span }) => span);
}
