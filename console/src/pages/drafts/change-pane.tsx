import type { ComponentProps } from 'preact';
import { useLayoutEffect, useMemo, useState } from 'preact/hooks';
import { type DraftChange, type DraftDiff, diffDraft } from '../../api/drafts-api.ts';
import { canWrite } from '../../api/session-state.ts';
import { pushQuery } from '../../router.ts';
import { count } from '../../text/format.ts';
import { visibleText } from '../../text/visible.tsx';
import { CopyButton } from '../../ui/copy-button.tsx';
import { Icon } from '../../ui/icon.tsx';
import { MovedPath, PathName } from '../../ui/path-name.tsx';
import { Segmented } from '../../ui/segmented.tsx';
import { LoadError, Loading } from '../../ui/status-messages.tsx';
import { useDebounced } from '../../ui/use-debounced.ts';
import { useLoad } from '../../ui/use-load.ts';
import { DiffView } from '../history/diff-view.tsx';
import { availableViews, type View, viewContent } from './comparison-views.ts';
import { Comments, type DraftComments, lineComments } from './draft-comments.tsx';
import { changedPaths, conflictText, sidesText } from './draft-texts.ts';
import { changeFingerprint, type Resolution, resolvedText, reviewProgress } from './kept-resolutions.ts';
import { OwnText } from './own-text-editor.tsx';
import { ResolutionBar } from './resolution-bar.tsx';
import { isViewed, markViewed } from './viewed.ts';

interface Props {
  tenant: string;
  draft: string;
  change: DraftChange;
  resolution: Resolution | undefined;
  comments: DraftComments;
  /** Called when the file differs from the reviewed comparison. */
  onStale: () => void;
  /** Called when the file's conflict was resolved by taking one side. */
  onResolved: () => void;
}

/** Shows the changes to a file and its resolution. */
export function ChangePane({ comments, tenant, draft, change, resolution, onStale, onResolved }: Props) {
  const state = changeFingerprint(change);
  const { data, error, isLoading, reload } = useLoad(
    (signal) => diffDraft(tenant, draft, change.memory_id, signal),
    [tenant, draft, state],
  );
  const isStale = data !== undefined && !isLoading && changeFingerprint(data.change) !== state;
  useLayoutEffect(() => {
    if (isStale) onStale();
  }, [isStale]);
  const [line, setLine] = useState<number | null>(null);
  const lineNotes = useMemo(
    () => ({
      notes: lineComments(comments, change.memory_id),
      onLine: canWrite.value ? setLine : undefined,
    }),
    [comments.all, change.memory_id, canWrite.value],
  );
  const progress = reviewProgress(change, resolution);
  const { from, path } = changedPaths(change);
  return (
    <>
      <div class="row pane-head file-head">
        <button type="button" class="icon-button only-narrow" onClick={() => pushQuery({ file: null })}>
          <Icon name="back" />
          <span class="visually-hidden">Back to the changed files</span>
        </button>
        <div class="file-title version-title">
          <h2>
            <MovedPath from={from} path={path} />
            <CopyButton what="the path" text={path} />
          </h2>
          <p class="muted small">{sidesText(change)}</p>
        </div>
        {change.in_draft !== null && (
          <label class="check">
            <input
              type="checkbox"
              checked={isViewed(draft, change)}
              onChange={({ currentTarget: { checked } }) => markViewed(draft, change, checked)}
            />
            Viewed
          </label>
        )}
      </div>
      {change.conflict !== null && <p class="notice warning flat">{visibleText(conflictText(change))}</p>}
      {change.blocked_by !== null && <BlockedBy {...change.blocked_by} />}
      {canWrite.value && change.in_draft !== null && (
        <ResolutionBar
          tenant={tenant}
          draft={draft}
          change={change}
          resolution={resolution}
          diff={data}
          onResolved={onResolved}
        />
      )}
      <Comments
        tenant={tenant}
        draft={draft}
        file={change.memory_id}
        line={line}
        onLine={setLine}
        {...comments}
      />
      {error !== undefined && <LoadError error={error} onRetry={reload} />}
      {data === undefined && error === undefined && <Loading what="the differences" />}
      {data && (
        <div class="fills">
          <Differences
            key={state}
            diff={data}
            lineNotes={lineNotes}
            chosen={progress === 'resolved' && resolution ? resolvedText(resolution) : null}
          />
          {canWrite.value && resolution?.choice === 'text' && (
            <OwnText tenant={tenant} draft={draft} resolution={resolution} diff={data} />
          )}
        </div>
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
    <>
      {views.length > 1 && (
        <div class="change-views">
          <Segmented label="Differences" options={views} value={shown} onChange={setSelected} />
        </div>
      )}
      <DiffView
        key={shown}
        files={files}
        summary={summary}
        lineNotes={shown === 'sides' || shown === 'draft' ? lineNotes : undefined}
      />
    </>
  );
}
