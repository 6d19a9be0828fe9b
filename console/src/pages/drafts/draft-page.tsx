import { useState } from 'preact/hooks';
import type { Tenant } from '../../api/api-types.ts';
import { changesMade } from '../../api/change-signals.ts';
import { type Draft, getDraft } from '../../api/drafts-api.ts';
import { canWrite } from '../../api/session-state.ts';
import { toHref } from '../../router.ts';
import { Icon } from '../../ui/icon.tsx';
import { ActorName, Time } from '../../ui/inline.tsx';
import { Name } from '../../ui/name.tsx';
import { LoadError, Loading } from '../../ui/status-messages.tsx';
import { useLoad } from '../../ui/use-load.ts';
import { RevertDialog } from '../history/revert-dialog.tsx';
import { Review } from './draft-review.tsx';
import { DraftTitle } from './draft-title.tsx';
import { Author, StateBadge } from './drafts-section.tsx';

/** Shows a tenant's draft: the review while the draft is open, or the record once it is closed. */
export function DraftPage({ tenant, id }: { tenant: Tenant; id: string }) {
  const { data, error, reload } = useLoad(
    (signal) => getDraft(tenant.id, id, signal),
    [tenant.id, id, changesMade.value],
  );
  if (error !== undefined) return <LoadError error={error} onRetry={reload} />;
  if (data === undefined) return <Loading what="the draft" />;
  return data.state === 'open' ? <Review draft={data} /> : <ClosedDraft draft={data} />;
}

function ClosedDraft({ draft }: { draft: Draft }) {
  const { id, tenant, state, base_at, closed_at, closed_by, merged_at } = draft;
  const [isReverting, setIsReverting] = useState(false);
  return (
    <div class="settings">
      <section class="card closed-draft">
        <DraftTitle draft={draft} />
        <dl class="facts">
          <dt>State</dt>
          <dd>
            <StateBadge state={state} />
          </dd>
          <dt>Author</dt>
          <dd>
            <Author {...draft} />
          </dd>
          <dt>Base</dt>
          <dd>
            <Time value={base_at} />
          </dd>
          <dt>Closed</dt>
          <dd>
            {closed_at && <Time value={closed_at} />} {closed_by && <ActorName actor={closed_by} />}
          </dd>
          <dt>ID</dt>
          <dd>
            <Name text={id} copies="the ID of the draft" />
          </dd>
        </dl>
        {merged_at === null ? (
          <p class="muted small">The draft was not merged. Only this record remains.</p>
        ) : (
          <div class="buttons">
            <a class="button" href={toHref(['tenants', tenant, 'history'], { by: id })}>
              <Icon name="clock" /> Its changes
            </a>
            {canWrite.value && (
              <button type="button" onClick={() => setIsReverting(true)}>
                <Icon name="restore" /> Revert…
              </button>
            )}
          </div>
        )}
      </section>
      {isReverting && merged_at !== null && (
        <RevertDialog
          tenant={tenant}
          actor={{ by: id }}
          name={`the draft “${draft.title}”`}
          since={merged_at}
          onClose={() => setIsReverting(false)}
        />
      )}
    </div>
  );
}
