/** The counts of findings that are still allowed, by kind of text, folder, and rule. They may only fall. */
import { dirname } from 'node:path';
import type { Kind } from './paragraphs.ts';

export interface Finding {
  file: string;
  line: number;
  kind: Kind;
  rule: string;
  /** The start of the sentence. */
  text: string;
  found: string;
  advice: string;
}

/** Counts by rule, by folder, by kind. */
export type Counts = Partial<Record<Kind, Record<string, Record<string, number>>>>;

/** The key of a file in the ratchet: its folder, three levels deep. */
export const folderOf = (file: string) => dirname(file).split('/').slice(0, 3).join('/');

export function count(findings: readonly Finding[]): Counts {
  const counts: Counts = {};
  for (const { kind, file, rule } of findings) add(counts, kind, folderOf(file), rule, 1);
  return counts;
}

function add(counts: Counts, kind: Kind, folder: string, rule: string, by: number): void {
  counts[kind] ??= {};
  counts[kind][folder] ??= {};
  counts[kind][folder][rule] = (counts[kind][folder][rule] ?? 0) + by;
}

export const allowed = (counts: Counts, { kind, file, rule }: Pick<Finding, 'kind' | 'file' | 'rule'>) =>
  counts[kind]?.[folderOf(file)]?.[rule] ?? 0;

/** Groups the findings that exceed the ratchet: all findings of a rule in a folder that has more than allowed. */
export function excess(findings: readonly Finding[], ratchet: Counts): Finding[][] {
  const groups = new Map<string, Finding[]>();
  for (const finding of findings) {
    const key = `${finding.kind} ${folderOf(finding.file)} ${finding.rule}`;
    groups.set(key, [...(groups.get(key) ?? []), finding]);
  }
  return [...groups.values()].filter((group) => {
    const [first] = group;
    return first !== undefined && group.length > allowed(ratchet, first);
  });
}

/** Returns the ratchet with each count lowered to the present one, in the order of the alphabet. Counts never rise. */
export function lowered(ratchet: Counts, now: Counts): Counts {
  const result: Counts = {};
  for (const [kind, folders] of sorted(ratchet)) {
    for (const [folder, rules] of sorted(folders)) {
      for (const [rule, limit] of sorted(rules)) {
        const value = Math.min(limit, now[kind as Kind]?.[folder]?.[rule] ?? 0);
        if (value > 0) add(result, kind as Kind, folder, rule, value);
      }
    }
  }
  return result;
}

const sorted = <V>(record: Record<string, V>) => Object.entries(record).sort(([a], [b]) => (a < b ? -1 : 1));
