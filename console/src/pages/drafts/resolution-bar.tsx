import type { DraftChange, DraftDiff } from '../../api/drafts-api.ts';
import { Segmented } from '../../ui/segmented.tsx';
import { withLineEnding } from '../memory/line-endings.ts';
import {
  type Choice,
  changeFingerprint,
  type Resolution,
  resolve,
  reviewProgress,
} from './kept-resolutions.ts';
import { startingText } from './regions.ts';

type Shown = Choice | 'merge';

interface Props {
  tenant: string;
  draft: string;
  change: DraftChange;
  resolution: Resolution | undefined;
  /** Undefined while the differences load. */
  diff: DraftDiff | undefined;
  /** Called when the file's conflict was resolved by taking one side. */
  onResolved: () => void;
}

/** Selects how a file is merged. */
export function ResolutionBar({ tenant, draft, change, resolution, diff, onResolved }: Props) {
  const chosen: Shown | null = resolution?.choice ?? (change.conflict === null ? 'merge' : null);
  const set = (next: Resolution | null) => resolve(tenant, draft, change.memory_id, next);
  const choose = (choice: Shown) => {
    if (choice === 'merge') return set(null);
    const next = { text: null, ...resolution, choice, of: changeFingerprint(change) };
    if (choice === 'text' && diff !== undefined) next.text ??= withLineEnding(startingText(diff), '\n');
    set(next);
    if (progress === 'open' && (choice === 'draft' || choice === 'original')) onResolved();
  };
  const progress = reviewProgress(change, resolution);
  return (
    <div class="controls bar">
      <Segmented
        label="Resolution of this file"
        options={choiceOptions(change, diff !== undefined)}
        value={chosen}
        onChange={choose}
      />
      {progress === 'stale' && resolution ? (
        <span class="stale small" role="status">
          It has changed since you chose.{' '}
          <button type="button" onClick={() => set({ ...resolution, of: changeFingerprint(change) })}>
            Choose it again
          </button>
        </span>
      ) : (
        <span class="muted small">
          {chosen === null ? 'Choose the version to merge.' : choiceHint(chosen, change)}
        </span>
      )}
    </div>
  );
}

/**
 * Whether another file or directory blocks the path for the reviewer's text. The text is stored at the draft's path,
 * unless only the original moved the file.
 */
const isTextBlocked = ({ conflict, blocked_by, base, draft }: DraftChange) =>
  conflict === 'occupied' || (blocked_by !== null && draft?.path !== base?.path);

function choiceOptions(change: DraftChange, isLoaded: boolean) {
  const { conflict, changed_in, draft, original } = change;
  const options: (readonly [Shown, string])[] = conflict === null ? [['merge', 'Merge']] : [];
  if (conflict !== null || changed_in === 'both') options.push(['draft', 'Draft']);
  options.push(['original', conflict === null && changed_in === 'draft' ? 'Leave out' : 'Original']);
  // A text cannot remove a blocking file, and needs a file that still exists on one side.
  const mayHaveText = !isTextBlocked(change) && (draft !== null || original !== null);
  if (mayHaveText && isLoaded) options.push(['text', 'Own text']);
  return options;
}

function choiceHint(choice: Shown, { draft, original, blocked_by, changed_in }: DraftChange): string {
  switch (choice) {
    case 'merge':
      return changed_in === 'both'
        ? 'The merge combines the changes of both sides.'
        : 'The merge applies the changes of the draft.';
    case 'draft':
      if (draft === null) return 'The file is deleted, as in the draft.';
      return blocked_by === null
        ? 'The file is merged as in the draft.'
        : 'The file is merged as in the draft. Files that block it are deleted, or merged as in the draft.';
    case 'original':
      return original === null
        ? 'The file is left out, as in the original.'
        : 'The file is kept as in the original.';
    case 'text':
      return 'The file gets the text below.';
  }
}
