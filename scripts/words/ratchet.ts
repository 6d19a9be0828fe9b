/** Limits on the findings in each directory. */
import { dirname } from 'node:path';
import type { Kind } from './paragraphs.ts';

/** A rule violation in a file. `names` are identifiers. */
export interface Finding {
  file: string;
  line: number;
  kind: Kind | 'names';
  rule: string;
  /** The sentence's start. */
  text: string;
  found: string;
  advice: string;
}

/** Number of findings by text kind, directory, and rule. */
export type Counts = Partial<Record<Finding['kind'], Record<string, Record<string, number>>>>;

/** Returns the ratchet's key for a file: its directory, at most three levels deep. */
export const groupDirectory = (file: string) => dirname(file).split('/').slice(0, 3).join('/');

export function countFindings(findings: readonly Finding[]): Counts {
  const counts: Counts = {};
  for (const { kind, file, rule } of findings) add(counts, kind, groupDirectory(file), rule, 1);
  return counts;
}

function add(counts: Counts, kind: Finding['kind'], directory: string, rule: string, by: number): void {
  counts[kind] ??= {};
  counts[kind][directory] ??= {};
  counts[kind][directory][rule] = (counts[kind][directory][rule] ?? 0) + by;
}

export const allowance = (counts: Counts, { kind, file, rule }: Pick<Finding, 'kind' | 'file' | 'rule'>) =>
  counts[kind]?.[groupDirectory(file)]?.[rule] ?? 0;

/**
 * Groups the findings that exceed the ratchet: all findings for a rule in a directory with more than the allowed
 * number.
 */
export function findExcess(findings: readonly Finding[], ratchet: Counts): Finding[][] {
  const groups = new Map<string, Finding[]>();
  for (const finding of findings) {
    const key = `${finding.kind} ${groupDirectory(finding.file)} ${finding.rule}`;
    groups.set(key, [...(groups.get(key) ?? []), finding]);
  }
  return [...groups.values()].filter((group) => {
    const [first] = group;
    return first !== undefined && group.length > allowance(ratchet, first);
  });
}

/** Returns the ratchet with each count lowered to the current count, sorted by name. Counts never rise. */
export function lower(ratchet: Counts, now: Counts): Counts {
  const result: Counts = {};
  for (const [kind, directories] of sortByName(ratchet)) {
    for (const [directory, rules] of sortByName(directories)) {
      for (const [rule, limit] of sortByName(rules)) {
        const value = Math.min(limit, now[kind as Finding['kind']]?.[directory]?.[rule] ?? 0);
        if (value > 0) add(result, kind as Finding['kind'], directory, rule, value);
      }
    }
  }
  return result;
}

const sortByName = <V>(record: Record<string, V>) =>
  Object.entries(record).sort(([a], [b]) => (a < b ? -1 : 1));
