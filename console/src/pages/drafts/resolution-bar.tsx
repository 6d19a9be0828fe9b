import type { DraftChange, DraftDiff, Region } from '../../api/drafts-api.ts';
import { Segmented } from '../../ui/segmented.tsx';
import { withLineEnding } from '../memory/line-endings.ts';
import { markedText, startingText } from './conflict-marks.ts';
import {
  type Choice,
  changeFingerprint,
  type Resolution,
  resolve,
  reviewProgress,
} from './kept-resolutions.ts';
import { withSides } from './regions.ts';

type Shown = Choice | 'merge';

interface Props {
  tenant: string;
  draft: string;
  change: DraftChange;
  resolution: Resolution | undefined;
  /** Undefined while the differences load. */
  diff: DraftDiff | undefined;
  /** Parts of the file whose sides can be chosen; null if there are none. */
  parts: readonly Region[] | null;
  /** Called when the file's conflict was resolved by taking one side. */
  onResolved: () => void;
}

/** Selects how a file is merged. */
export function ResolutionBar({ tenant, draft, change, resolution, diff, parts, onResolved }: Props) {
  const chosen: Shown | null = resolution?.choice ?? (change.conflict === null ? 'merge' : null);
  const set = (next: Resolution | null) => resolve(tenant, draft, change.memory_id, next);
  const choose = (choice: Shown) => {
    if (choice === 'merge') return set(null);
    const next = { ...KEPT, ...resolution, choice, of: changeFingerprint(change) };
    if (choice === 'text') next.text ??= withLineEnding(initialText(diff, parts, resolution), '\n');
    if (choice === 'parts' && parts !== null) next.parts ??= initialParts(parts, change);
    set(next);
    if (progress === 'open' && (choice === 'draft' || choice === 'original')) onResolved();
  };
  const progress = reviewProgress(change, resolution);
  return (
    <div class="resolution-bar">
      <Segmented
        label="Resolution of this file"
        options={choiceOptions(change, diff !== undefined, parts !== null)}
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

const KEPT = { text: null };

/** Returns the reviewer's initial text: the text from the chosen parts, or from both sides. */
function initialText(
  diff: DraftDiff | undefined,
  parts: readonly Region[] | null,
  resolution: Resolution | undefined,
): string {
  if (resolution?.choice === 'parts' && parts !== null && resolution.parts !== undefined)
    return markedText(withSides(parts, resolution.parts.sides));
  return diff === undefined ? '' : startingText(diff);
}

/** Returns the parts' initial sides: the draft, unless the parts conflict. */
function initialParts(parts: readonly Region[], change: DraftChange): NonNullable<Resolution['parts']> {
  const side = change.conflict === null ? 'draft' : null;
  const sides = parts.filter(({ kind }) => kind === 'conflict').map(() => side);
  return { sides, text: side === null ? null : markedText(withSides(parts, sides)) };
}

function choiceOptions(change: DraftChange, isLoaded: boolean, hasParts: boolean) {
  const { conflict, changed_in, draft, original } = change;
  const options: (readonly [Shown, string])[] = conflict === null ? [['merge', 'Merge']] : [];
  if (conflict !== null || changed_in === 'both') options.push(['draft', 'Draft']);
  options.push(['original', conflict === null && changed_in === 'draft' ? 'Leave out' : 'Original']);
  // A text cannot remove a blocking file, and needs a file that still exists on one side.
  const mayHaveText = !isTextBlocked(change) && (draft !== null || original !== null);
  if (mayHaveText && hasParts) options.push(['parts', 'By part']);
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
    case 'parts':
      return 'The file gets the side that you choose for each part below.';
    case 'text':
      return 'The file gets the text below.';
  }
}
