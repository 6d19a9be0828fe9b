import { useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks';
import { changesMade } from '../../api/change-signals.ts';
import {
  type Comparison,
  compareDraft,
  type Draft,
  type DraftChange,
  type DraftComment,
  listComments,
} from '../../api/drafts-api.ts';
import { pushQuery, route } from '../../router.ts';
import { count, formatBytes } from '../../text/format.ts';
import { ActorName, Time } from '../../ui/inline.tsx';
import { Name } from '../../ui/name.tsx';
import { Empty, LoadError, Loading } from '../../ui/status-messages.tsx';
import { useLoad } from '../../ui/use-load.ts';
import { ChangeList } from './change-list.tsx';
import { ChangePane } from './change-pane.tsx';
import { Comments } from './draft-comments.tsx';
import { changesByDirectory } from './draft-texts.ts';
import { DraftTitle } from './draft-title.tsx';
import { Author } from './drafts-section.tsx';
import { storedResolutions, unresolvedChanges } from './kept-resolutions.ts';
import { ReviewActions } from './review-actions.tsx';
import { type Rejection, StaleReview } from './stale-review.tsx';
import { selectedFile, useReviewKeys } from './use-review-keys.ts';

/** An open draft's review. The URL selects the file. */
export function Review({ draft }: { draft: Draft }) {
  const { tenant, id } = draft;
  const [rejection, setRejection] = useState<Rejection | null>(null);
  const { data, error, isLoading, reload } = useLoad(
    (signal) => compareDraft(tenant, id, signal),
    [tenant, id, changesMade.value],
  );
  const { data: commented, reload: reloadComments } = useLoad(
    (signal) => listComments(tenant, id, signal),
    [tenant, id, changesMade.value],
  );
  const comments = { all: commented?.comments ?? [], reload: reloadComments };
  const request = comments.all.findLast(({ reviewer, resolved }) => reviewer !== null && resolved === null);
  const chosen = route.value.query.get('file');
  const resolutions = storedResolutions(tenant, id);
  const ordered = useMemo(
    () => (data ? changesByDirectory(data.changes).flatMap(([, members]) => members) : []),
    [data],
  );
  const selected = selectedFile(ordered);
  const pane = useRef<HTMLElement>(null);
  useReviewKeys(id, ordered);
  useLayoutEffect(() => {
    const { current } = pane;
    // The page may show the previous file's end.
    if (current !== null && current.getBoundingClientRect().top < 0) current.scrollIntoView();
  }, [selected]);
  const openNextConflict = (after: DraftChange | undefined) => {
    const left = new Set(unresolvedChanges(ordered, storedResolutions(tenant, id)));
    const at = after === undefined ? -1 : ordered.indexOf(after);
    const next = [...ordered.slice(at + 1), ...ordered.slice(0, Math.max(at, 0))].find((each) =>
      left.has(each),
    );
    if (next === undefined) return;
    pushQuery({ file: next.memory_id });
    // The button that had the focus may belong to the previous file.
    pane.current?.focus({ preventScroll: true });
  };
  const change = data?.changes.find(({ memory_id }) => memory_id === selected);
  const showRejection = (message: string) => {
    if (data !== undefined) setRejection({ message, seen: data });
    reload();
  };
  return (
    <div class="fills review">
      <ReviewHead draft={data?.draft ?? draft} comparison={data} request={request} />
      {data !== undefined && (
        <ReviewActions
          comparison={data}
          resolutions={resolutions}
          isLoading={isLoading}
          onNext={() => openNextConflict(change)}
          onStart={() => setRejection(null)}
          onRejected={showRejection}
        />
      )}
      <Comments tenant={tenant} draft={id} file={null} {...comments} />
      {rejection && data && data !== rejection.seen && !isLoading && (
        <StaleReview rejection={rejection} now={data} />
      )}
      {error !== undefined && <LoadError error={error} onRetry={reload} />}
      {data === undefined && error === undefined && <Loading what="the comparison" />}
      {data?.changes.length === 0 && <Empty title="Neither the draft nor the original has changed" />}
      {data !== undefined && data.changes.length > 0 && (
        <div class={chosen === null ? 'panes' : 'panes has-file'}>
          <section class="pane review-files" aria-label="Changed files">
            <ChangeList
              draft={id}
              changes={data.changes}
              resolutions={resolutions}
              comments={comments.all}
              selected={selected}
              onSelect={(file) => pushQuery({ file })}
            />
          </section>
          <section ref={pane} tabIndex={-1} class="pane file-pane" aria-label="Changes of the file">
            {selected === null || change === undefined ? (
              <Empty title="This file has changed neither in the draft nor since">
                <div class="buttons">
                  <button type="button" onClick={() => pushQuery({ file: null })}>
                    See all changed files
                  </button>
                </div>
              </Empty>
            ) : (
              <ChangePane
                key={selected}
                tenant={tenant}
                change={change}
                draft={id}
                comments={comments}
                resolution={resolutions.get(selected)}
                onStale={() => showRejection('This file has changed since you opened the review.')}
                onResolved={() => openNextConflict(change)}
              />
            )}
          </section>
        </div>
      )}
    </div>
  );
}

interface HeadProps {
  draft: Draft;
  comparison: Comparison | undefined;
  /** The latest open request for a review. */
  request: DraftComment | undefined;
}

function ReviewHead({ draft, comparison, request }: HeadProps) {
  const { base_at, files, bytes, last_used_at, expires_at } = draft;
  const counts = comparison?.counts;
  return (
    <div class="stack review-head">
      <DraftTitle draft={draft} />
      <p class="muted small facts-line review-facts">
        <span>
          by <Author {...draft} />
        </span>
        <span>
          base <Time value={base_at} />
        </span>
        {files !== null && (
          <span>
            {count(files, 'file')}, {formatBytes(bytes ?? 0)}
          </span>
        )}
        {last_used_at && (
          <span>
            last used <Time value={last_used_at} isAge />
          </span>
        )}
        {expires_at && (
          <span>
            expires <Time value={expires_at} />
          </span>
        )}
        {request?.reviewer && (
          <span class="requested">
            review requested of <Name text={request.reviewer} /> by <ActorName actor={request.author} />{' '}
            <Time value={request.created_at} isAge />
          </span>
        )}
        {counts && (
          <span>
            {count(counts.draft + counts.both, 'file')} changed in the draft,{' '}
            {count(counts.original + counts.both, 'file')} in the original since
          </span>
        )}
      </p>
    </div>
  );
}
