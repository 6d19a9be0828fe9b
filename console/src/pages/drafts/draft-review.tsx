import { useMemo, useState } from 'preact/hooks';
import { changesMade } from '../../api/change-signals.ts';
import {
  type Comparison,
  compareDraft,
  type Draft,
  type DraftChange,
  type DraftComment,
  listComments,
} from '../../api/drafts-api.ts';
import { route } from '../../router.ts';
import { count, formatBytes } from '../../text/format.ts';
import { ActorName, Time } from '../../ui/inline.tsx';
import { Name } from '../../ui/name.tsx';
import { Empty, LoadError, Loading } from '../../ui/status-messages.tsx';
import { useLoad } from '../../ui/use-load.ts';
import { LayoutChoice } from '../history/diff-view.tsx';
import { ChangeList } from './change-list.tsx';
import { Comments } from './draft-comments.tsx';
import { changesByDirectory } from './draft-texts.ts';
import { DraftTitle } from './draft-title.tsx';
import { Author } from './drafts-section.tsx';
import { FileStack } from './file-stack.tsx';
import { storedResolutions, unresolvedChanges } from './kept-resolutions.ts';
import { ReviewActions } from './review-actions.tsx';
import { type Rejection, StaleReview } from './stale-review.tsx';
import { useFileInView } from './use-file-in-view.ts';
import { useReviewKeys } from './use-review-keys.ts';
import { isViewed, markViewed } from './viewed.ts';

/** An open draft's review. The URL selects a file. */
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
  const comments = { tenant, draft: id, all: commented?.comments ?? [], reload: reloadComments };
  const request = comments.all.findLast(({ reviewer, resolved }) => reviewer !== null && resolved === null);
  const chosen = route.value.query.get('file');
  const resolutions = storedResolutions(tenant, id);
  const ordered = useMemo(
    () => (data ? changesByDirectory(data.changes).flatMap(([, members]) => members) : []),
    [data],
  );
  const [toggled, setToggled] = useState<ReadonlyMap<string, boolean>>(() => new Map());
  const toggle = ({ memory_id }: Pick<DraftChange, 'memory_id'>, isOpen: boolean) =>
    setToggled((before) => new Map(before).set(memory_id, isOpen));
  const setViewed = (change: DraftChange, isMarked: boolean) => {
    markViewed(id, change, isMarked);
    toggle(change, !isMarked);
  };
  const { inView, scrollTo } = useFileInView(ordered.length > 0);
  const show = (file: string) => {
    toggle({ memory_id: file }, true);
    scrollTo(file);
  };
  const findIndex = () => ordered.findIndex(({ memory_id }) => memory_id === inView.value);
  useReviewKeys(ordered, {
    findIndex,
    show,
    toggleViewed: (change) => setViewed(change, !isViewed(id, change)),
  });
  const showNextConflict = (at: number) => {
    const left = new Set(unresolvedChanges(ordered, storedResolutions(tenant, id)));
    const next = [...ordered.slice(at + 1), ...ordered.slice(0, at + 1)].find((each) => left.has(each));
    if (next !== undefined) show(next.memory_id);
  };
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
          onNext={() => showNextConflict(findIndex())}
          onStart={() => setRejection(null)}
          onRejected={showRejection}
        />
      )}
      <Comments comments={comments} file={null} />
      {rejection && data && data !== rejection.seen && !isLoading && (
        <StaleReview rejection={rejection} now={data} />
      )}
      {error !== undefined && <LoadError error={error} onRetry={reload} />}
      {data === undefined && error === undefined && <Loading what="the comparison" />}
      {data?.changes.length === 0 && <Empty title="Neither the draft nor the original has changed" />}
      {data !== undefined && data.changes.length > 0 && (
        <div class="review-panes">
          <section class="pane review-files" aria-label="Changed files">
            <ChangeList
              draft={id}
              changes={data.changes}
              resolutions={resolutions}
              comments={comments.all}
              inView={inView}
              onSelect={show}
            />
          </section>
          <section class="stack" aria-label="Changes of the files">
            <div class="toolbar">
              <span class="spacer">
                {chosen !== null && !ordered.some(({ memory_id }) => memory_id === chosen) && (
                  <span class="muted">This file has changed neither in the draft nor since.</span>
                )}
              </span>
              <LayoutChoice />
            </div>
            <FileStack
              ordered={ordered}
              resolutions={resolutions}
              comments={comments}
              chosen={chosen}
              toggled={toggled}
              onToggle={toggle}
              onViewed={setViewed}
              onStale={() => showRejection('A file has changed since you opened the review.')}
              onResolved={(change) => showNextConflict(ordered.indexOf(change))}
            />
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
