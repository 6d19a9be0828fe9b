import { useMemo } from 'preact/hooks';
import { changesMade } from '../../api/changes.ts';
import { diffOfMoments } from '../../api/history.ts';
import type { Tenant } from '../../api/types.ts';
import { replaceQuery, route } from '../../router.ts';
import { count } from '../../text/format.ts';
import { Empty, LoadError, Loading } from '../../ui/messages.tsx';
import { MomentField } from '../../ui/moment-field.tsx';
import { useDebounced } from '../../ui/use-debounced.ts';
import { usePages } from '../../ui/use-pages.ts';
import { shownDiff } from './diff-rows.ts';
import { DiffView } from './diff-view.tsx';
import { Timeline } from './timeline.tsx';

/** Compares two times of a whole memory, or of the files below a path. */
export function ComparePage({ tenant }: { tenant: Tenant }) {
  const { query } = route.value;
  const at = query.get('at');
  const to = query.get('to');
  const path = query.get('path');
  const moments = useDebounced(JSON.stringify({ at, to, path }), 250);
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
        <MomentField
          isCoarse
          label="From"
          fallback="the beginning"
          value={at}
          onChange={(time) => replaceQuery({ at: time })}
        />
        <MomentField
          isCoarse
          label="To"
          fallback="now"
          value={to}
          onChange={(time) => replaceQuery({ to: time })}
        />
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
      <Timeline
        tenant={tenant}
        at={at ?? tenant.history_since}
        onChange={(time) => replaceQuery({ at: time ?? new Date().toISOString() })}
      />
      {pages.error !== undefined && <LoadError error={pages.error} onRetry={pages.reload} />}
      {files === undefined && pages.error === undefined && <Loading what="the differences" />}
      {files && files.length === 0 && <Empty title="No differences between these times" />}
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
