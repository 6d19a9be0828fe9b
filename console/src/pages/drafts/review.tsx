import { useState } from 'preact/hooks';
import { changesMade } from '../../api/changes.ts';
import { type Comparison, compareDraft, type Draft } from '../../api/drafts.ts';
import { pushQuery, route } from '../../router.ts';
import { count, formatBytes } from '../../text/format.ts';
import { Time } from '../../ui/inline.tsx';
import { Empty, LoadError, Loading } from '../../ui/messages.tsx';
import { useLoad } from '../../ui/use-load.ts';
import { ChangeList } from './change-list.tsx';
import { ChangePane } from './change-pane.tsx';
import { DraftTitle } from './draft-page.tsx';
import { Author } from './drafts-section.tsx';
import { Overtaken } from './overtaken.tsx';
import { ReviewActions } from './review-actions.tsx';
import { settlementsOf } from './settlements.ts';

/** A merge that was rejected because the draft or the original had changed after the review. */
export interface Refusal {
  message: string;
  /** The comparison that the reviewer saw. */
  seen: Comparison;
}

/** The review of an open draft. The URL selects the file. */
export function Review({ draft }: { draft: Draft }) {
  const { tenant, id } = draft;
  const [refusal, setRefusal] = useState<Refusal | null>(null);
  const { data, error, isLoading, reload } = useLoad(
    (signal) => compareDraft(tenant, id, signal),
    [tenant, id, changesMade.value],
  );
  const selected = route.value.query.get('file');
  const settlements = settlementsOf(tenant, id);
  const change = data?.changes.find(({ memory_id }) => memory_id === selected);
  const refused = (message: string) => {
    if (data !== undefined) setRefusal({ message, seen: data });
    reload();
  };
  return (
    <div class="review">
      <ReviewHead draft={data?.draft ?? draft} comparison={data} />
      {data !== undefined && (
        <ReviewActions
          comparison={data}
          settlements={settlements}
          isLoading={isLoading}
          onStart={() => setRefusal(null)}
          onRefused={refused}
        />
      )}
      {refusal && data && data !== refusal.seen && !isLoading && <Overtaken refusal={refusal} now={data} />}
      {error !== undefined && <LoadError error={error} onRetry={reload} />}
      {data === undefined && error === undefined && <Loading what="the comparison" />}
      {data?.changes.length === 0 && <Empty title="Neither the draft nor the original has changed" />}
      {data !== undefined && data.changes.length > 0 && (
        <div class={selected === null ? 'panes history' : 'panes history has-file'}>
          <section class="pane" aria-label="Changed files">
            <ChangeList
              changes={data.changes}
              settlements={settlements}
              selected={selected}
              onSelect={(file) => pushQuery({ file })}
            />
          </section>
          <section class="pane file-pane" aria-label="Changes of the file">
            {selected === null ? (
              <Empty title="Select a file to see its changes" />
            ) : change === undefined ? (
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
                settlement={settlements.get(selected)}
                onOvertaken={() => refused('This file has changed since you opened the review.')}
              />
            )}
          </section>
        </div>
      )}
    </div>
  );
}

function ReviewHead({ draft, comparison }: { draft: Draft; comparison: Comparison | undefined }) {
  const { base_at, files, bytes, last_used_at, expires_at } = draft;
  const counts = comparison?.counts;
  return (
    <div class="review-head">
      <DraftTitle draft={draft} />
      <p class="muted small review-facts">
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
