import { applyPatch, structuredPatch } from 'diff';
import { useMemo } from 'preact/hooks';
import type { LoadedFile } from '../../api/memory.ts';
import { hunksBetween } from '../history/diff-rows.ts';
import { DiffView } from '../history/diff-view.tsx';
import { withLineEnding } from './line-endings.ts';

interface Props {
  /** What the edit began with. */
  base: string;
  mine: string;
  /** What is there now; null when the file is gone. */
  theirs: LoadedFile | null;
  keepEditing: (text: string) => void;
  takeTheirs: () => void;
}

/** Somebody changed the file during an edit: shows what, and lets the person choose. */
export function EditConflict({ base, mine, theirs, keepEditing, takeTheirs }: Props) {
  const now = theirs === null ? '' : withLineEnding(theirs.content, '\n');
  const merged = useMemo(() => (theirs === null ? null : merge(base, mine, now)), [base, mine, now]);
  const hunks = useMemo(() => hunksBetween(now, mine), [now, mine]);
  return (
    <div class="conflict">
      <div class="notice warning flat" role="alert">
        <p>
          <strong>
            {theirs === null ? 'This file was deleted' : 'This file was changed'} while you edited it.
          </strong>{' '}
          Your changes are not saved. Below, red is the current file, and green is your text.
        </p>
        <div class="buttons">
          {merged !== null && (
            <button type="button" class="primary" onClick={() => keepEditing(merged)}>
              Merge both
            </button>
          )}
          <button type="button" onClick={() => keepEditing(mine)}>
            Keep mine
          </button>
          <button type="button" onClick={takeTheirs}>
            {theirs === null ? 'Leave it deleted' : 'Take theirs'}
          </button>
        </div>
      </div>
      <DiffView files={[{ title: null, hunks, note: null }]} />
    </div>
  );
}

/** The lines around an edit that must be as they were. The person sees the result before it is saved. */
const CONTEXT = { context: 1 };

/** Both edits in one text; null when they touch the same lines. */
function merge(base: string, mine: string, theirs: string): string | null {
  const merged = applyPatch(theirs, structuredPatch('', '', base, mine, undefined, undefined, CONTEXT), {
    autoConvertLineEndings: false,
  });
  return merged === false ? null : merged;
}
