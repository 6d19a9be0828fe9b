import { parsePatch, type StructuredPatchHunk, structuredPatch } from 'diff';
import type { FileDiff } from '../../api/api-types.ts';

export type Hunk = Pick<StructuredPatchHunk, 'oldStart' | 'newStart' | 'lines'>;

/** Differences in one file. */
export interface ShownDiff {
  /** Null for a single file that the page names elsewhere. */
  title: { oldPath: string | null; path: string | null } | null;
  hunks: Hunk[];
  /** Explanation for a diff without lines. */
  note: string | null;
}

export interface Side {
  number: number;
  text: string;
}

export type DiffRow =
  | { kind: 'title'; file: number }
  | { kind: 'note'; text: string }
  | { kind: 'gap'; text: string }
  /** A line on both sides, or on one side. The unified layout shows a changed line as two rows. */
  | { kind: 'line'; old: Side | null; now: Side | null };

/**
 * Maximum number of added and removed lines. Larger diffs replace the whole text, because the time to compute a diff
 * grows with the square of this number.
 */
const MAX_EDITS = 1000;

export function shownDiff({ old_path, path, patch, no_patch_reason }: FileDiff): ShownDiff {
  const hunks = patch === null ? [] : parseHunks(patch);
  const isMoved = old_path !== null && path !== null && old_path !== path;
  const nothing = isMoved ? 'Moved, with the same content.' : 'The content is empty or the same.';
  const note =
    hunks.length > 0
      ? null
      : patch === null
        ? (no_patch_reason ?? 'There is nothing to compare with.')
        : nothing;
  return { title: { oldPath: old_path, path }, hunks, note };
}

/** Parses the hunks in a single-file patch. The header is skipped, because its paths are untrusted. */
function parseHunks(patch: string): Hunk[] {
  const start = patch.search(/^@@ /m);
  return start === -1 ? [] : (parsePatch(patch.slice(start))[0]?.hunks ?? []);
}

export function findHunks(old: string, now: string): Hunk[] {
  const patch = structuredPatch('', '', old, now, undefined, undefined, { maxEditLength: MAX_EDITS });
  if (patch) return patch.hunks;
  const lines = [...old.split('\n').map((line) => `-${line}`), ...now.split('\n').map((line) => `+${line}`)];
  return [{ oldStart: 1, newStart: 1, lines }];
}

export type DiffKind = 'added' | 'modified' | 'renamed' | 'deleted';

/** Returns the kind of change to a file. */
export function diffKind({ oldPath, path }: NonNullable<ShownDiff['title']>): DiffKind {
  if (oldPath === null) return 'added';
  if (path === null) return 'deleted';
  return oldPath === path ? 'modified' : 'renamed';
}

/** Returns each row's text, for a search. */
export function rowTexts(rows: readonly DiffRow[], files: readonly ShownDiff[]): string[] {
  return rows.map((row) => {
    if (row.kind === 'line') {
      const [old, now] = [row.old?.text, row.now?.text];
      return old === now ? (now ?? '') : `${old ?? ''}\n${now ?? ''}`;
    }
    if (row.kind !== 'title') return '';
    const title = files[row.file]?.title;
    return `${title?.oldPath ?? ''}\n${title?.path ?? ''}`;
  });
}

/** Returns the rows for a diff view, in line order. */
export function diffRows(
  files: readonly ShownDiff[],
  isSplit: boolean,
  isCollapsed: (file: number) => boolean,
): DiffRow[] {
  const rows: DiffRow[] = [];
  files.forEach(({ title, hunks, note }, file) => {
    if (title !== null) rows.push({ kind: 'title', file });
    if (isCollapsed(file)) return;
    if (note !== null) rows.push({ kind: 'note', text: note });
    for (const hunk of hunks) addHunk(rows, hunk, isSplit);
  });
  return rows;
}

function addHunk(rows: DiffRow[], { oldStart, newStart, lines }: Hunk, isSplit: boolean): void {
  if (oldStart > 1 || newStart > 1) rows.push({ kind: 'gap', text: `Line ${newStart}` });
  let [oldNumber, newNumber] = [oldStart, newStart];
  let removed: Side[] = [];
  let added: Side[] = [];
  const flush = () => {
    addChange(rows, removed, added, isSplit);
    [removed, added] = [[], []];
  };
  for (const line of lines) {
    const text = line.slice(1);
    if (line.startsWith('-')) removed.push({ number: oldNumber++, text });
    else if (line.startsWith('+')) added.push({ number: newNumber++, text });
    else if (line.startsWith('\\')) {
      flush();
      rows.push({ kind: 'note', text: 'No newline at the end' });
    } else {
      flush();
      rows.push({
        kind: 'line',
        old: { number: oldNumber++, text },
        now: { number: newNumber++, text },
      });
    }
  }
  flush();
}

function addChange(rows: DiffRow[], removed: Side[], added: Side[], isSplit: boolean): void {
  if (!isSplit) {
    for (const old of removed) rows.push({ kind: 'line', old, now: null });
    for (const now of added) rows.push({ kind: 'line', old: null, now });
    return;
  }
  for (let i = 0; i < Math.max(removed.length, added.length); i++) {
    rows.push({ kind: 'line', old: removed[i] ?? null, now: added[i] ?? null });
  }
}
