import { useLayoutEffect } from 'preact/hooks';
import type { DraftChange } from '../../api/drafts-api.ts';
import { pushQuery, route } from '../../router.ts';
import { isTyping } from '../../ui/shortcuts.ts';
import { isViewed, markViewed } from './viewed.ts';

/** Returns the selected file's memory ID: the file in the URL, the first conflict, or the first file. */
export const selectedFile = (ordered: readonly DraftChange[]) =>
  route.value.query.get('file') ??
  (ordered.find(({ conflict }) => conflict !== null) ?? ordered[0])?.memory_id ??
  null;

const STEPS: Record<string, 1 | -1> = { j: 1, k: -1 };

/** Handles the keys in a review: `j` and `k` open the next and previous file, and `v` marks the file as viewed. */
export function useReviewKeys(draft: string, ordered: readonly DraftChange[]): void {
  // A layout effect handles a key that is pressed as soon as the files are shown.
  useLayoutEffect(() => {
    const onKeyDown = (event: KeyboardEvent) => {
      if (isTyping(event)) return;
      const selected = selectedFile(ordered);
      const at = ordered.findIndex(({ memory_id }) => memory_id === selected);
      const change = ordered[at];
      const step = STEPS[event.key];
      const next = step === undefined ? undefined : ordered[at + step];
      if (next !== undefined) pushQuery({ file: next.memory_id });
      else if (event.key === 'v' && change?.in_draft) markViewed(draft, change, !isViewed(draft, change));
      else if (step === undefined) return;
      // On other pages, the keys move the focus through a list's rows.
      event.preventDefault();
    };
    // The capture phase precedes the shortcuts that all pages share.
    addEventListener('keydown', onKeyDown, { capture: true });
    return () => removeEventListener('keydown', onKeyDown, { capture: true });
  }, [draft, ordered]);
}
