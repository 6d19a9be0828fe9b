import type { DraftChange, DraftDiff } from '../../api/drafts.ts';
import { Segmented } from '../../ui/segmented.tsx';
import { withLineEnding } from '../memory/line-endings.ts';
import { startingText } from './own-text.ts';
import { type Choice, progressOf, type Settlement, settle, stateOf } from './settlements.ts';

type Shown = Choice | 'merge';

interface Props {
  tenant: string;
  draft: string;
  change: DraftChange;
  settlement: Settlement | undefined;
  /** Undefined while the differences load. */
  diff: DraftDiff | undefined;
}

/** Selects how a file is merged. */
export function SettleBar({ tenant, draft, change, settlement, diff }: Props) {
  const chosen: Shown | null = settlement?.choice ?? (change.conflict === null ? 'merge' : null);
  const set = (next: Settlement | null) => settle(tenant, draft, change.memory_id, next);
  const choose = (choice: Shown) => {
    if (choice === 'merge') return set(null);
    const start = () => (diff === undefined ? null : withLineEnding(startingText(diff), '\n'));
    const text = settlement?.text ?? (choice === 'text' ? start() : null);
    set({ choice, text, of: stateOf(change) });
  };
  const progress = progressOf(change, settlement);
  return (
    <div class="settle-bar">
      <Segmented
        label="Resolution of this file"
        options={optionsOf(change, diff !== undefined)}
        value={chosen}
        onChange={choose}
      />
      {progress === 'stale' && settlement ? (
        <span class="stale small" role="status">
          It has changed since you chose.{' '}
          <button type="button" onClick={() => set({ ...settlement, of: stateOf(change) })}>
            Choose it again
          </button>
        </span>
      ) : (
        <span class="muted small">
          {chosen === null ? 'Choose the version to merge.' : hintOf(chosen, change)}
        </span>
      )}
    </div>
  );
}

/**
 * Whether another file or directory blocks the path of the reviewer's text. The text is stored at the draft's path,
 * unless only the original moved the file.
 */
const textIsBlocked = ({ conflict, blocked_by, base, draft }: DraftChange) =>
  conflict === 'occupied' || (blocked_by !== null && draft?.path !== base?.path);

function optionsOf(change: DraftChange, isLoaded: boolean) {
  const { conflict, changed_in, draft, original } = change;
  const options: (readonly [Shown, string])[] = conflict === null ? [['merge', 'Merge']] : [];
  if (conflict !== null || changed_in === 'both') options.push(['draft', 'Draft']);
  options.push(['original', conflict === null && changed_in === 'draft' ? 'Leave out' : 'Original']);
  // A text cannot remove a blocking file, and needs a file that still exists on one side.
  const mayHaveText = !textIsBlocked(change) && (draft !== null || original !== null);
  if (mayHaveText && isLoaded) options.push(['text', 'Own text']);
  return options;
}

function hintOf(choice: Shown, { draft, original, blocked_by, changed_in }: DraftChange): string {
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
