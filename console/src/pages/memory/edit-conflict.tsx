import { useMemo } from 'preact/hooks';
import { mergedText } from '../../../../src/core/history/merge-lines.ts';
import type { LoadedFile } from '../../api/memory-api.ts';
import { EDITED } from '../../text/conflict-marks.ts';
import { markedText, mergeSides } from '../drafts/regions.ts';
import { compareTexts } from '../history/diff-lines.ts';
import { DiffView } from '../history/diff-view.tsx';
import { withLineEnding } from './line-endings.ts';

interface Props {
  /** The content when the edit started. */
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
  const regions = useMemo(
    () => (theirs === null ? null : mergeSides({ base, draft: mine, original: now })),
    [base, mine, now],
  );
  const merged = regions && mergedText(regions);
  const files = useMemo(() => [{ title: null, lines: compareTexts(now, mine), note: null }], [now, mine]);
  return (
    <div class="fills conflict">
      <div class="notice warning flat" role="alert">
        <p>
          <strong>
            {theirs === null ? 'This file was deleted' : 'This file was changed'} while you edited it.
          </strong>{' '}
          Your changes are not saved. Below, red is the current file, and green is your text.
          {regions !== null && merged === null && ' For a text of both, choose Own text.'}
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
          {regions !== null && merged === null && (
            <button type="button" onClick={() => keepEditing(markedText(regions, EDITED))}>
              Own text
            </button>
          )}
          <button type="button" onClick={takeTheirs}>
            {theirs === null ? 'Leave it deleted' : 'Take theirs'}
          </button>
        </div>
      </div>
      <DiffView files={files} />
    </div>
  );
}
