import { useEffect, useMemo, useRef } from 'preact/hooks';
import type { DraftChange, DraftComment } from '../../api/drafts-api.ts';
import { count, formatNumber } from '../../text/format.ts';
import { Icon } from '../../ui/icon.tsx';
import { MovedPath } from '../../ui/path-name.tsx';
import { VirtualList, type VirtualListHandle } from '../../ui/virtual-list.tsx';
import { changedPaths, GROUPS, type Group, groupChanges, sidesText } from './draft-texts.ts';
import { type Progress, type Resolution, type Resolutions, reviewProgress } from './kept-resolutions.ts';
import { isViewed } from './viewed.ts';

type Row = { title: string } | { change: DraftChange };

interface Props {
  /** The draft's ID. */
  draft: string;
  changes: readonly DraftChange[];
  resolutions: Resolutions;
  comments: readonly DraftComment[];
  /** The selected file's memory ID. */
  selected: string | null;
  onSelect: (id: string) => void;
}

/** Lists the changed files by the kind of change, conflicts first. */
export function ChangeList({ draft, changes, resolutions, comments, selected, onSelect }: Props) {
  const list = useRef<VirtualListHandle>(null);
  const rows = useMemo(() => groupedRows(changes), [changes]);
  const index = rows.findIndex((row) => 'change' in row && row.change.memory_id === selected);
  useEffect(() => {
    if (index !== -1) list.current?.scrollTo(index);
  }, [index]);
  return (
    <>
      <Counts draft={draft} changes={changes} />
      <VirtualList
        handle={list}
        class="versions"
        kind="list"
        label="Changed files"
        count={rows.length}
        rowHeight={57}
      >
        {(index) => {
          const row = rows[index];
          if (row === undefined) return null;
          if ('title' in row) return <h3 class="day">{row.title}</h3>;
          const { change } = row;
          return (
            <ChangeRow
              change={change}
              resolution={resolutions.get(change.memory_id)}
              isSelected={change.memory_id === selected}
              isViewed={isViewed(draft, change)}
              comments={comments.filter(({ memory_id }) => memory_id === change.memory_id).length}
              onSelect={onSelect}
            />
          );
        }}
      </VirtualList>
    </>
  );
}

function groupedRows(changes: readonly DraftChange[]): Row[] {
  return groupChanges(changes).flatMap(([group, members]): Row[] => [
    { title: `${GROUPS[group]} (${formatNumber(members.length)})` },
    ...members.map((change) => ({ change })),
  ]);
}

/** Shows how many files changed, by kind, and how many of them were viewed. */
function Counts({ draft, changes }: Pick<Props, 'draft' | 'changes'>) {
  const toView = changes.filter(({ in_draft }) => in_draft !== null);
  const viewed = toView.filter((change) => isViewed(draft, change)).length;
  return (
    <p class="review-counts small" role="status">
      {groupChanges(changes).map(([group, { length }]) => (
        <span key={group} class={group === 'conflict' ? 'to-resolve' : 'muted'}>
          {formatNumber(length)} {COUNTED[group]}
          {group === 'conflict' && length > 1 ? 's' : ''}
        </span>
      ))}
      <span>
        Viewed {formatNumber(viewed)} of {formatNumber(toView.length)}
      </span>
    </p>
  );
}

const COUNTED: Record<Group, string> = {
  conflict: 'conflict',
  both: 'on both sides',
  added: 'added',
  changed: 'changed',
  moved: 'moved',
  deleted: 'deleted',
  original: 'only in the original',
};

interface RowProps {
  change: DraftChange;
  resolution: Resolution | undefined;
  isSelected: boolean;
  isViewed: boolean;
  /** Number of comments on the file. */
  comments: number;
  onSelect: (id: string) => void;
}

function ChangeRow({ change, resolution, isSelected, isViewed, comments, onSelect }: RowProps) {
  const kind = change.conflict === null ? (change.in_draft ?? change.in_original ?? '') : 'conflict';
  const progress = reviewProgress(change, resolution);
  return (
    <button
      type="button"
      class={isViewed ? 'version-row viewed' : 'version-row'}
      aria-pressed={isSelected}
      onClick={() => onSelect(change.memory_id)}
    >
      <span class="version-line">
        <span class={change.in_draft === null ? 'change' : `change ${kind}`}>{kind}</span>
        <span class="version-path">
          <MovedPath {...changedPaths(change)} />
        </span>
        {isViewed && (
          <>
            <span class="spacer" />
            <span class="visually-hidden">viewed </span>
            <Icon name="check" />
          </>
        )}
      </span>
      <span class="version-line muted small">
        <span class="cut" title={sidesText(change)}>
          {sidesText(change)}
        </span>
        {comments > 0 && <span>{count(comments, 'comment')}</span>}
        <span class="spacer" />
        <span class={`progress-of ${progress}`}>{PROGRESS[progress](resolution)}</span>
      </span>
    </button>
  );
}

const CHOICES = {
  draft: 'takes the draft',
  original: 'keeps the original',
  parts: 'takes your parts',
  text: 'takes your text',
};

const PROGRESS: Record<Progress, (resolution: Resolution | undefined) => string> = {
  merges: () => '',
  open: () => 'to resolve',
  marked: () => 'has marks left',
  stale: () => 'changed since',
  resolved: (resolution) => (resolution === undefined ? '' : CHOICES[resolution.choice]),
};
