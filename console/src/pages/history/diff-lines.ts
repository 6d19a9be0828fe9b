import { parsePatch, type StructuredPatchHunk, structuredPatch } from 'diff';
import type { FileDiff } from '../../api/api-types.ts';
import type { DiffLine } from '../../ui/code-editor/code-diff.tsx';

/** Differences in one file. */
export interface ShownDiff {
  /** Null for a single file that the page names elsewhere. */
  title: { oldPath: string | null; path: string | null } | null;
  lines: readonly DiffLine[];
  /** Explanation for a diff without lines. */
  note: string | null;
}

/**
 * Maximum for added and removed lines together. Larger diffs replace the whole text, because the time to compute a diff
 * grows with the square of this number.
 */
const MAX_EDITS = 1000;

/** Converts a comparison for display, without a title. */
export function shownDiff({ old_path, path, patch, no_patch_reason }: FileDiff): ShownDiff {
  const lines = patch === null ? [] : parseLines(patch);
  const isMoved = old_path !== null && path !== null && old_path !== path;
  const nothing = isMoved ? 'Moved, with the same content.' : 'The content is empty or the same.';
  const note =
    lines.length > 0
      ? null
      : patch === null
        ? (no_patch_reason ?? 'There is nothing to compare with.')
        : nothing;
  return { title: null, lines, note };
}

export const titledDiff = (diff: FileDiff): ShownDiff => ({
  ...shownDiff(diff),
  title: { oldPath: diff.old_path, path: diff.path },
});

/** Parses the lines in a single-file patch. The header is skipped, because its paths are untrusted. */
function parseLines(patch: string): DiffLine[] {
  const start = patch.search(/^@@ /m);
  return start === -1 ? [] : (parsePatch(patch.slice(start))[0]?.hunks ?? []).flatMap(hunkLines);
}

export function compareTexts(old: string, now: string): DiffLine[] {
  const patch = structuredPatch('', '', old, now, undefined, undefined, { maxEditLength: MAX_EDITS });
  if (patch) return patch.hunks.flatMap(hunkLines);
  const lines = [...old.split('\n').map((line) => `-${line}`), ...now.split('\n').map((line) => `+${line}`)];
  return hunkLines({ oldStart: 1, newStart: 1, lines });
}

const KINDS: Record<string, DiffLine['kind']> = { ' ': 'same', '-': 'removed', '+': 'added' };

function hunkLines({
  oldStart,
  newStart,
  lines,
}: Pick<StructuredPatchHunk, 'oldStart' | 'newStart' | 'lines'>) {
  const shown: DiffLine[] = [];
  let [old, now] = [oldStart, newStart];
  for (const line of lines) {
    const kind = KINDS[line[0] ?? ''];
    const last = shown.at(-1);
    if (kind !== undefined)
      shown.push({
        kind,
        text: line.slice(1),
        old: kind === 'added' ? null : old++,
        now: kind === 'removed' ? null : now++,
        ...(last === undefined && (oldStart > 1 || newStart > 1) && { caption: `Line ${newStart}` }),
      });
    else if (last !== undefined) last.note = 'No newline at the end';
  }
  return shown;
}

export type DiffKind = 'added' | 'modified' | 'renamed' | 'deleted';

/** Returns the kind of change to a file. */
export function diffKind({ oldPath, path }: NonNullable<ShownDiff['title']>): DiffKind {
  if (oldPath === null) return 'added';
  if (path === null) return 'deleted';
  return oldPath === path ? 'modified' : 'renamed';
}
