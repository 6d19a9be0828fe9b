import { useLayoutEffect, useMemo, useState } from 'preact/hooks';
import { type DraftChange, type DraftDiff, diffDraft } from '../../api/drafts.ts';
import { canWrite } from '../../api/session.ts';
import { pushQuery } from '../../router.ts';
import { count } from '../../text/format.ts';
import { visibleText } from '../../text/visible.tsx';
import { CopyButton } from '../../ui/copy.tsx';
import { Icon } from '../../ui/icon.tsx';
import { LoadError, Loading } from '../../ui/messages.tsx';
import { MovedPath, PathName } from '../../ui/path-name.tsx';
import { Segmented } from '../../ui/segmented.tsx';
import { useLoad } from '../../ui/use-load.ts';
import { DiffView } from '../history/diff-view.tsx';
import { OwnText } from './own-text-editor.tsx';
import { SettleBar } from './settle-bar.tsx';
import { type Settlement, stateOf } from './settlements.ts';
import { shownOf, type View, viewsOf } from './views.ts';
import { conflictText, pathsOf, sidesText } from './words.ts';

interface Props {
  tenant: string;
  draft: string;
  change: DraftChange;
  settlement: Settlement | undefined;
  /** Called when the file differs from the reviewed comparison. */
  onOvertaken: () => void;
}

/** Shows the changes to a file and its resolution. */
export function ChangePane({ tenant, draft, change, settlement, onOvertaken }: Props) {
  const state = stateOf(change);
  const { data, error, isLoading, reload } = useLoad(
    (signal) => diffDraft(tenant, draft, change.memory_id, signal),
    [tenant, draft, state],
  );
  const isOvertaken = data !== undefined && !isLoading && stateOf(data.change) !== state;
  useLayoutEffect(() => {
    if (isOvertaken) onOvertaken();
  }, [isOvertaken]);
  const { from, path } = pathsOf(change);
  return (
    <>
      <div class="pane-head file-head">
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
      </div>
      {change.conflict !== null && (
        <p class="notice warning flat conflict-text">{visibleText(conflictText(change))}</p>
      )}
      {change.blocked_by !== null && <BlockedBy {...change.blocked_by} />}
      {canWrite.value && change.in_draft !== null && (
        <SettleBar tenant={tenant} draft={draft} change={change} settlement={settlement} diff={data} />
      )}
      {error !== undefined && <LoadError error={error} onRetry={reload} />}
      {data === undefined && error === undefined && <Loading what="the differences" />}
      {data && (
        <div class="change-body">
          <Differences key={state} diff={data} />
          {canWrite.value && settlement?.choice === 'text' && (
            <OwnText tenant={tenant} draft={draft} settlement={settlement} diff={data} />
          )}
        </div>
      )}
    </>
  );
}

/** Limits for a list of blocking files: at most `NAMED` are listed, and a list of up to `SHOWN_AT_ONCE` is expanded. */
const NAMED = 20;
const SHOWN_AT_ONCE = 5;

/**
 * Lists the files that block the path of the file. Choosing the draft's version deletes them, or changes them as in the
 * draft.
 */
function BlockedBy({ path, files, file_count }: NonNullable<DraftChange['blocked_by']>) {
  const named = files.slice(0, NAMED);
  return (
    <details class="blocked-by" open={file_count <= SHOWN_AT_ONCE}>
      <summary>
        {file_count === 0 ? 'Blocked by an empty directory' : `Blocked by ${count(file_count, 'file')}`}
      </summary>
      <ul aria-label="Blocked by">
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

function Differences({ diff }: { diff: DraftDiff }) {
  const views = useMemo(() => viewsOf(diff), [diff]);
  const [chosen, setChosen] = useState<View | null>(null);
  const view = chosen ?? views[0]?.[0] ?? 'draft';
  const { files, summary } = useMemo(() => shownOf(diff, view), [diff, view]);
  return (
    <>
      {views.length > 1 && (
        <div class="change-views">
          <Segmented label="Differences" options={views} value={view} onChange={setChosen} />
        </div>
      )}
      <DiffView key={view} files={files} summary={summary} />
    </>
  );
}
