import { formatPatch, type StructuredPatchHunk, structuredPatch } from 'diff';
import type { LoadedState } from './file-state.ts';

/** Lines added and removed. The time to find the smallest diff grows with the square of it. */
const MAX_EDITS = 1000;
const CONTEXT = 3;
const NOWHERE = '/dev/null';

/**
 * A change as `git diff` writes it, with the contents byte for byte, for `git apply` and `patch -p1` in the folder of an export. Empty
 * when nothing changed, undefined when one side is not there to compare with.
 */
export function patchOf(before: LoadedState, after: LoadedState): string | undefined {
  if (!isComparable(before) || !isComparable(after)) return undefined;
  const [old, now] = [contentOf(before), contentOf(after)];
  const isCreate = before.kind === 'absent';
  const isDelete = after.kind === 'absent';
  if (isCreate && isDelete) return '';
  const isRename = !isCreate && !isDelete && before.path !== after.path;
  if (!isCreate && !isDelete && before.path === after.path && old === now) return '';
  return formatPatch({
    oldFileName: isCreate ? NOWHERE : `a${before.path}`,
    newFileName: isDelete ? NOWHERE : `b${after.path}`,
    oldHeader: undefined,
    newHeader: undefined,
    hunks: hunksOf(old, now),
    isGit: true,
    ...{ isCreate, isDelete, isRename },
  });
}

/** Why there is no patch between two states. */
export function reasonOf(before: LoadedState, after: LoadedState): string {
  if (after.kind === 'redacted') return 'this version was redacted';
  if (after.kind === 'pruned') return 'this version is no longer kept';
  return before.kind === 'redacted'
    ? 'the version before was redacted'
    : 'the version before is no longer kept';
}

type Comparable = Extract<LoadedState, { kind: 'file' | 'absent' }>;

const isComparable = (state: LoadedState): state is Comparable =>
  state.kind === 'file' || state.kind === 'absent';

const contentOf = (state: Comparable) => (state.kind === 'file' ? state.content : '');

function hunksOf(old: string, now: string): StructuredPatchHunk[] {
  if (old === now) return [];
  if (old === '' || now === '') return [replacement(old, now)];
  const options = { context: CONTEXT, maxEditLength: MAX_EDITS };
  const patch = structuredPatch('', '', old, now, undefined, undefined, options);
  return patch?.hunks ?? [replacement(old, now)];
}

/** All of the one text out, all of the other in. */
function replacement(old: string, now: string): StructuredPatchHunk {
  const removed = linesOf(old);
  const added = linesOf(now);
  return {
    ...{ oldStart: 1, oldLines: removed.length, newStart: 1, newLines: added.length },
    lines: [...prefixed('-', removed, old), ...prefixed('+', added, now)],
  };
}

function linesOf(text: string): string[] {
  const lines = text.split('\n');
  if (lines.at(-1) === '') lines.pop();
  return lines;
}

function prefixed(sign: string, lines: string[], text: string): string[] {
  const marked = lines.map((line) => sign + line);
  if (text !== '' && !text.endsWith('\n')) marked.push('\\ No newline at end of file');
  return marked;
}
