import { applyPatch, structuredPatch } from 'diff';
import { useMemo } from 'preact/hooks';
import type { LoadedFile } from '../../api/memory.ts';
import { hunksBetween } from '../history/diff-rows.ts';
import { DiffView } from '../history/diff-view.tsx';
import { withLineEnding } from './line-endings.ts';

interface Props {
  /** The content at the start of the edit. */
  base: string;
  mine: string;
  /** The current file, or null if it was deleted. */
  theirs: LoadedFile | null;
  keepEditing: (text: string) => void;
  takeTheirs: () => void;
}

/** Shows how the file changed during an edit, and lets the user resolve the conflict. */
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

/** Number of unchanged lines that must match around each edit. The user sees the result before saving it. */
const CONTEXT = { context: 1 };

/** Merges both edits into one text. Returns null if both changed the same lines. */
function merge(base: string, mine: string, theirs: string): string | null {
  const merged = applyPatch(theirs, structuredPatch('', '', base, mine, undefined, undefined, CONTEXT), {
    autoConvertLineEndings: false,
  });
  return merged === false ? null : merged;
}
