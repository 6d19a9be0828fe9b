import { useMemo } from 'preact/hooks';
import { changesMade } from '../../api/changes.ts';
import { diffOfMoments } from '../../api/history.ts';
import type { Tenant } from '../../api/types.ts';
import { replaceQuery, route } from '../../router.ts';
import { count } from '../../text/format.ts';
import { fromLocal, toLocal } from '../../text/local-time.ts';
import { Empty, LoadError, Loading } from '../../ui/messages.tsx';
import { useDebounced } from '../../ui/use-debounced.ts';
import { usePages } from '../../ui/use-pages.ts';
import { shownDiff } from './diff-rows.ts';
import { DiffView } from './diff-view.tsx';
import { Timeline } from './timeline.tsx';

/** What differs between two moments, in the whole memory or below a path. */
export function ComparePage({ tenant }: { tenant: Tenant }) {
  const { query } = route.value;
  const at = query.get('at');
  const to = query.get('to');
  const path = query.get('path');
  const moments = useDebounced(JSON.stringify({ at: at ?? tenant.created_at, to, path }), 250);
  const pages = usePages(
    async (after, signal) => {
      const { changes, next } = await diffOfMoments(tenant.id, JSON.parse(moments), after, signal);
      return { items: changes, next };
    },
    [tenant.id, moments, changesMade.value],
  );
  const files = useMemo(() => pages.items?.map(shownDiff), [pages.items]);
  return (
    <div class="compare">
      <div class="compare-moments">
        <Moment title="From" value={at} fallback="the beginning" name="at" />
        <Moment title="To" value={to} fallback="now" name="to" />
        <label class="grows">
          Path
          <input
            type="search"
            placeholder="/memories"
            value={path ?? ''}
            onInput={(event) => replaceQuery({ path: event.currentTarget.value })}
          />
        </label>
      </div>
      <Timeline tenant={tenant} at={at} onChange={(time) => replaceQuery({ at: time })} />
      {pages.error !== undefined && <LoadError error={pages.error} onRetry={pages.reload} />}
      {files === undefined && pages.error === undefined && <Loading what="the differences" />}
      {files && files.length === 0 && <Empty title="Nothing differs between these moments" />}
      {files && files.length > 0 && (
        <section class="pane" aria-label="Differences">
          <DiffView
            files={files}
            summary={`${count(files.length, 'file')}${pages.more ? ' and more' : ''}`}
            onEnd={pages.more}
          />
        </section>
      )}
    </div>
  );
}

interface MomentProps {
  title: string;
  value: string | null;
  /** What holds without a value. */
  fallback: string;
  name: 'at' | 'to';
}

function Moment({ title, value, fallback, name }: MomentProps) {
  return (
    <label>
      <span>
        {title}
        {value === null && <span class="muted"> ({fallback})</span>}
      </span>
      <input
        type="datetime-local"
        step="1"
        value={value === null ? '' : toLocal(value)}
        onInput={(event) => replaceQuery({ [name]: fromLocal(event.currentTarget.value) })}
      />
    </label>
  );
}
