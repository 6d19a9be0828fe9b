/** One violation of a rule in a file. */
import { dirname } from 'node:path';
import type { Kind } from './paragraphs.ts';

export interface Finding {
  file: string;
  line: number;
  kind: Kind;
  rule: string;
  /** Start of the sentence. */
  text: string;
  found: string;
  advice: string;
}

/** Number of findings by kind of text, directory, and rule. */
export type Counts = Partial<Record<Kind, Record<string, Record<string, number>>>>;

/** Returns the ratchet's key for a file: its directory, at most three levels deep. */
export const directoryOf = (file: string) => dirname(file).split('/').slice(0, 3).join('/');

export function count(findings: readonly Finding[]): Counts {
  const counts: Counts = {};
  for (const { kind, file, rule } of findings) add(counts, kind, directoryOf(file), rule, 1);
  return counts;
}

function add(counts: Counts, kind: Kind, directory: string, rule: string, by: number): void {
  counts[kind] ??= {};
  counts[kind][directory] ??= {};
  counts[kind][directory][rule] = (counts[kind][directory][rule] ?? 0) + by;
}

export const allowed = (counts: Counts, { kind, file, rule }: Pick<Finding, 'kind' | 'file' | 'rule'>) =>
  counts[kind]?.[directoryOf(file)]?.[rule] ?? 0;

/**
 * Groups the findings that exceed the ratchet: all findings of a rule in a directory with more than the allowed number.
 */
export function excess(findings: readonly Finding[], ratchet: Counts): Finding[][] {
  const groups = new Map<string, Finding[]>();
  for (const finding of findings) {
    const key = `${finding.kind} ${directoryOf(finding.file)} ${finding.rule}`;
    groups.set(key, [...(groups.get(key) ?? []), finding]);
  }
  return [...groups.values()].filter((group) => {
    const [first] = group;
    return first !== undefined && group.length > allowed(ratchet, first);
  });
}

/** Returns the ratchet with each count lowered to the current count, sorted by name. Counts never rise. */
export function lowered(ratchet: Counts, now: Counts): Counts {
  const result: Counts = {};
  for (const [kind, directories] of sorted(ratchet)) {
    for (const [directory, rules] of sorted(directories)) {
      for (const [rule, limit] of sorted(rules)) {
        const value = Math.min(limit, now[kind as Kind]?.[directory]?.[rule] ?? 0);
        if (value > 0) add(result, kind as Kind, directory, rule, value);
      }
    }
  }
  return result;
}

const sorted = <V>(record: Record<string, V>) => Object.entries(record).sort(([a], [b]) => (a < b ? -1 : 1));
