import type { ComponentChildren, ComponentProps } from 'preact';
import { useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks';
import { type DraftChange, type DraftDiff, diffDraft } from '../../api/drafts-api.ts';
import { canWrite } from '../../api/session-state.ts';
import { count, formatNumber } from '../../text/format.ts';
import { visibleText } from '../../text/visible.tsx';
import { CopyButton } from '../../ui/copy-button.tsx';
import { IconButton } from '../../ui/icon-button.tsx';
import { MovedPath, PathName } from '../../ui/path-name.tsx';
import { Segmented } from '../../ui/segmented.tsx';
import { LoadError, Loading } from '../../ui/status-messages.tsx';
import { useDebounced } from '../../ui/use-debounced.ts';
import { useLoad } from '../../ui/use-load.ts';
import { useNear } from '../../ui/use-near.ts';
import { shownDiff } from '../history/diff-lines.ts';
import { DiffView } from '../history/diff-view.tsx';
import { availableViews, type View, viewContent } from './comparison-views.ts';
import { Comments, type DraftComments, lineComments } from './draft-comments.tsx';
import { changedPaths, conflictText, sidesText } from './draft-texts.ts';
import { ChangeMark, ProgressMark } from './file-marks.tsx';
import { changeFingerprint, type Resolution, resolvedText, reviewProgress } from './kept-resolutions.ts';
import { OwnText } from './own-text-editor.tsx';
import { ResolutionBar } from './resolution-bar.tsx';
import { isViewed } from './viewed.ts';

/** An open file's estimated height in pixels. */
const OPEN_HEIGHT = 320;

export interface FileProps {
  comments: DraftComments;
  /** Shows or hides the file's differences. */
  onToggle: (change: DraftChange, isOpen: boolean) => void;
  onViewed: (change: DraftChange, isViewed: boolean) => void;
  /** Called when the file differs from the reviewed comparison. */
  onStale: () => void;
  /** Called when the file's conflict was resolved by taking one side. */
  onResolved: (change: DraftChange) => void;
}

interface Props extends FileProps {
  change: DraftChange;
  resolution: Resolution | undefined;
  isOpen: boolean;
}

/** Shows the changes to a file and its resolution. The differences are loaded when an open file is near the screen. */
export function ChangedFile(props: Props) {
  const { comments, change, resolution, isOpen, onToggle, onViewed, onStale, onResolved } = props;
  const { tenant, draft } = comments;
  const { body, isNear } = useNear(OPEN_HEIGHT);
  // The input in a file that was shown once is kept.
  const isShown = useRef(false);
  isShown.current ||= isOpen && isNear;
  const state = changeFingerprint(change);
  const { data, error, isLoading, reload } = useLoad(
    (signal) => diffDraft(tenant, draft, change.memory_id, signal),
    [tenant, draft, state],
    undefined,
    undefined,
    isShown.current,
  );
  const isStale = data !== undefined && !isLoading && changeFingerprint(data.change) !== state;
  useLayoutEffect(() => {
    if (isStale) onStale();
  }, [isStale]);
  const article = useRef<HTMLElement>(null);
  const wasOpen = useRef(isOpen);
  useLayoutEffect(() => {
    // A long file's head may be above the window.
    if (wasOpen.current && !isOpen) article.current?.scrollIntoView({ block: 'nearest' });
    wasOpen.current = isOpen;
  }, [isOpen]);
  const { from, path } = changedPaths(change);
  return (
    <article
      ref={article}
      class="pane changed-file"
      id={`file-${change.memory_id}`}
      tabIndex={-1}
      aria-label={path}
    >
      <div class="row pane-head file-head">
        <IconButton
          icon="chevron"
          label="Differences"
          class="muted disclosure"
          aria-expanded={isOpen}
          onClick={() => onToggle(change, !isOpen)}
        />
        <ChangeMark change={change} />
        <h3 title={sidesText(change)}>
          <MovedPath from={from} path={path} />
        </h3>
        <CopyButton what="the path" text={path} />
        {data && <LineCounts diff={data} />}
        <ProgressMark change={change} resolution={resolution} />
        {change.in_draft !== null && (
          <label class="check viewed-mark">
            <input
              type="checkbox"
              checked={isViewed(draft, change)}
              onChange={({ currentTarget: { checked } }) => onViewed(change, checked)}
            />
            Viewed
          </label>
        )}
      </div>
      <div ref={body} hidden={!isOpen} style={{ minHeight: isShown.current ? 0 : `${OPEN_HEIGHT}px` }}>
        {isShown.current && (
          <FileBody
            comments={comments}
            change={change}
            resolution={resolution}
            diff={data}
            onResolved={() => onResolved(change)}
          >
            {error !== undefined && <LoadError error={error} onRetry={reload} />}
            {data === undefined && error === undefined && <Loading what="the differences" />}
          </FileBody>
        )}
      </div>
    </article>
  );
}

/** Counts the lines that a file's changed side adds and removes. */
function LineCounts({ diff }: { diff: DraftDiff }) {
  const { added = [], removed = [] } = useMemo(() => {
    const { lines } = shownDiff(diff.change.in_draft === null ? diff.original : diff.draft);
    return Object.groupBy(lines, ({ kind }) => kind);
  }, [diff]);
  if (added.length + removed.length === 0) return null;
  return (
    <span class="small line-counts">
      <span title={count(added.length, 'added line')}>+{formatNumber(added.length)}</span>{' '}
      <span title={count(removed.length, 'removed line')}>−{formatNumber(removed.length)}</span>
    </span>
  );
}

interface BodyProps extends Pick<Props, 'comments' | 'change' | 'resolution'> {
  /** Undefined while the differences load. */
  diff: DraftDiff | undefined;
  onResolved: () => void;
  /** Content before the differences are loaded. */
  children: ComponentChildren;
}

function FileBody({ comments, change, resolution, diff, onResolved, children }: BodyProps) {
  const { tenant, draft } = comments;
  const [line, setLine] = useState<number | null>(null);
  const lineNotes = useMemo(
    () => ({
      notes: lineComments(comments, change.memory_id, line, () => setLine(null)),
      onLine: canWrite.value ? setLine : undefined,
    }),
    [comments.all, change.memory_id, line, canWrite.value],
  );
  const progress = reviewProgress(change, resolution);
  return (
    <>
      {change.conflict !== null && <p class="notice warning flat">{visibleText(conflictText(change))}</p>}
      {change.blocked_by !== null && <BlockedBy {...change.blocked_by} />}
      {canWrite.value && change.in_draft !== null && (
        <ResolutionBar
          tenant={tenant}
          draft={draft}
          change={change}
          resolution={resolution}
          diff={diff}
          onResolved={onResolved}
        />
      )}
      <Comments comments={comments} file={change.memory_id} />
      {diff === undefined ? (
        children
      ) : (
        <Differences
          key={changeFingerprint(diff.change)}
          diff={diff}
          lineNotes={lineNotes}
          chosen={progress === 'resolved' && resolution ? resolvedText(resolution) : null}
        />
      )}
      {canWrite.value && diff && resolution?.choice === 'text' && (
        <OwnText tenant={tenant} draft={draft} resolution={resolution} diff={diff} />
      )}
    </>
  );
}

/**
 * Limits for a list of blocking files: at most `NAMED` are listed, and a list with up to `SHOWN_AT_ONCE` files is
 * expanded.
 */
const NAMED = 20;
const SHOWN_AT_ONCE = 5;

/**
 * Lists the files that block the file's path. Choosing the draft's version deletes them, or changes them as in the
 * draft.
 */
function BlockedBy({ path, files, file_count }: NonNullable<DraftChange['blocked_by']>) {
  const named = files.slice(0, NAMED);
  return (
    <details class="bar blocked-by" open={file_count <= SHOWN_AT_ONCE}>
      <summary>
        {file_count === 0 ? 'Blocked by an empty directory' : `Blocked by ${count(file_count, 'file')}`}
      </summary>
      <ul class="bullets" aria-label="Blocked by">
        {(file_count === 0 ? [path] : named).map((each) => (
          <li key={each}>
            <PathName path={each} />
          </li>
        ))}
        {file_count > named.length && <li>and {count(file_count - named.length, 'more file')}</li>}
      </ul>
    </details>
  );
}

interface DifferencesProps {
  diff: DraftDiff;
  /** The resolution's text, if it has one. */
  chosen: string | null;
  /** Comments on lines in the draft's file. */
  lineNotes: ComponentProps<typeof DiffView>['lineNotes'];
}

function Differences({ diff, chosen: current, lineNotes }: DifferencesProps) {
  // Comparing long texts on each key press would delay the next key press.
  const chosen = useDebounced(current, 200);
  const hasText = chosen !== null;
  const views = useMemo(() => availableViews(diff, hasText), [diff, hasText]);
  const [selected, setSelected] = useState<View | null>(null);
  const view = views.some(([name]) => name === selected) ? selected : null;
  const shown = view ?? views[0]?.[0] ?? 'draft';
  const { files, summary } = useMemo(
    () => viewContent(diff, shown, chosen),
    [diff, shown, shown === 'chosen' ? chosen : null],
  );
  return (
    <DiffView
      key={shown}
      isPart
      files={files}
      summary={
        <>
          {views.length > 1 && (
            <Segmented label="Differences" options={views} value={shown} onChange={setSelected} />
          )}
          {summary}
        </>
      }
      lineNotes={shown === 'sides' || shown === 'draft' ? lineNotes : undefined}
    />
  );
}
