import type { ReadonlySignal } from '@preact/signals';
import { useEffect, useMemo, useRef } from 'preact/hooks';
import type { DraftChange, DraftComment } from '../../api/drafts-api.ts';
import { count, formatNumber } from '../../text/format.ts';
import { Icon } from '../../ui/icon.tsx';
import { MovedPath, PathName } from '../../ui/path-name.tsx';
import { VirtualList, type VirtualListHandle } from '../../ui/virtual-list.tsx';
import { baseName, ROOT, shortPath } from '../memory/tree.ts';
import { changedPaths, changesByDirectory, GROUPS, groupChanges, sidesText } from './draft-texts.ts';
import { ChangeMark, ProgressMark } from './file-marks.tsx';
import type { Resolution, Resolutions } from './kept-resolutions.ts';
import { isViewed } from './viewed.ts';

const ROW_HEIGHT = 34;

type Row = { directory: string } | { change: DraftChange };

interface Props {
  /** The draft's ID. */
  draft: string;
  changes: readonly DraftChange[];
  resolutions: Resolutions;
  comments: readonly DraftComment[];
  /** Memory ID for the file in view. */
  inView: ReadonlySignal<string | null>;
  onSelect: (id: string) => void;
}

/** Lists the changed files by directory. */
export function ChangeList({ draft, changes, resolutions, comments, inView, onSelect }: Props) {
  const list = useRef<VirtualListHandle>(null);
  const rows = useMemo(() => treeRows(changes), [changes]);
  const index = rows.findIndex((row) => 'change' in row && row.change.memory_id === inView.value);
  useEffect(() => {
    if (index !== -1) list.current?.scrollTo(index);
  }, [index]);
  return (
    <>
      <Counts draft={draft} changes={changes} />
      <VirtualList handle={list} kind="list" label="Changed files" count={rows.length} rowHeight={ROW_HEIGHT}>
        {(index) => {
          const row = rows[index];
          if (row === undefined) return null;
          if ('directory' in row)
            return (
              <h3 class="row review-directory">
                <Icon name="directory" /> <PathName path={row.directory} />
              </h3>
            );
          const { change } = row;
          return (
            <ChangeRow
              change={change}
              resolution={resolutions.get(change.memory_id)}
              isSelected={change.memory_id === inView.value}
              isViewed={isViewed(draft, change)}
              comments={
                comments.filter((each) => each.memory_id === change.memory_id && !each.resolved).length
              }
              onSelect={onSelect}
            />
          );
        }}
      </VirtualList>
    </>
  );
}

function treeRows(changes: readonly DraftChange[]): Row[] {
  return changesByDirectory(changes).flatMap(([directory, members]): Row[] => [
    { directory: directory === ROOT ? ROOT : `${shortPath(directory)}/` },
    ...members.map((change) => ({ change })),
  ]);
}

/** Shows how many files changed, by kind, and how many of them were viewed. */
function Counts({ draft, changes }: Pick<Props, 'draft' | 'changes'>) {
  const toView = changes.filter(({ in_draft }) => in_draft !== null);
  const viewed = toView.filter((change) => isViewed(draft, change)).length;
  return (
    <p class="facts-line bar review-counts small" role="status">
      {groupChanges(changes).map(([group, { length }]) => (
        <span key={group} class={group === 'conflict' ? 'to-resolve' : 'muted'}>
          {formatNumber(length)} {GROUPS[group]}
          {group === 'conflict' && length > 1 ? 's' : ''}
        </span>
      ))}
      <span>
        Viewed {formatNumber(viewed)} of {formatNumber(toView.length)}
      </span>
    </p>
  );
}

interface RowProps {
  change: DraftChange;
  resolution: Resolution | undefined;
  isSelected: boolean;
  isViewed: boolean;
  /** Number of open comments on the file. */
  comments: number;
  onSelect: (id: string) => void;
}

function ChangeRow({ change, resolution, isSelected, isViewed, comments, onSelect }: RowProps) {
  const { from, path } = changedPaths(change);
  return (
    <button
      type="button"
      class={isViewed ? 'version-row review-row viewed' : 'version-row review-row'}
      aria-pressed={isSelected}
      title={sidesText(change)}
      onClick={() => onSelect(change.memory_id)}
    >
      <span class="row version-line">
        <ChangeMark change={change} />
        <span class="version-path">
          {from === null || from === path ? (
            <PathName path={baseName(path)} />
          ) : (
            <MovedPath from={from} path={path} />
          )}
        </span>
        <span class="visually-hidden">{sidesText(change)}</span>
        <span class="spacer" />
        {comments > 0 && (
          <span class="muted small comment-count" title={count(comments, 'comment')}>
            <Icon name="comment" /> {comments}
            <span class="visually-hidden"> {comments === 1 ? 'comment' : 'comments'}</span>
          </span>
        )}
        <ProgressMark change={change} resolution={resolution} />
        {isViewed && (
          <>
            <Icon name="check" />
            <span class="visually-hidden">viewed</span>
          </>
        )}
      </span>
    </button>
  );
}
