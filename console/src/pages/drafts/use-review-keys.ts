import { useLayoutEffect } from 'preact/hooks';
import type { DraftChange } from '../../api/drafts-api.ts';
import { isTyping } from '../../ui/shortcuts.ts';

const STEPS: Record<string, 1 | -1> = { j: 1, k: -1 };

interface Actions {
  /** Returns the index for the file in view. */
  findIndex: () => number;
  show: (id: string) => void;
  toggleViewed: (change: DraftChange) => void;
}

/** Handles the keys in a review: `j` and `k` open the next and previous file, and `v` marks the file as viewed. */
export function useReviewKeys(ordered: readonly DraftChange[], actions: Actions): void {
  // A layout effect handles a key that is pressed as soon as the files are shown.
  useLayoutEffect(() => {
    const onKeyDown = (event: KeyboardEvent) => {
      if (isTyping(event)) return;
      const at = actions.findIndex();
      const change = ordered[at];
      const step = STEPS[event.key];
      const next = step === undefined ? undefined : ordered[at + step];
      if (next !== undefined) actions.show(next.memory_id);
      else if (event.key === 'v' && change?.in_draft) actions.toggleViewed(change);
      else if (step === undefined) return;
      // On other pages, the keys move the focus through a list's rows.
      event.preventDefault();
    };
    // The capture phase precedes the shortcuts that all pages share.
    addEventListener('keydown', onKeyDown, { capture: true });
    return () => removeEventListener('keydown', onKeyDown, { capture: true });
  });
}
