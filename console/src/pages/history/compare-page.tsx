import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import type { Tenant } from '../../api/api-types.ts';
import { compareTimes } from '../../api/history-api.ts';
import { replaceQuery, route } from '../../router.ts';
import { count } from '../../text/format.ts';
import { Button } from '../../ui/button.tsx';
import { Empty, LoadError, Loading } from '../../ui/status-messages.tsx';
import { TimeField } from '../../ui/time-field.tsx';
import { useDebounced } from '../../ui/use-debounced.ts';
import { usePages } from '../../ui/use-pages.ts';
import { ComparisonIndex, isKind, withKind } from './comparison-index.tsx';
import { titledDiff } from './diff-lines.ts';
import { DiffView, type DiffViewHandle } from './diff-view.tsx';
import { Timeline } from './history-timeline.tsx';

/**
 * Size of the part of a comparison that is loaded at a time. The browser keeps all loaded parts, for the file list and
 * the search.
 */
const BOUND = { files: 1000, characters: 8_000_000 };

const raiseBound = (files: number, characters: number) => ({
  files: files + BOUND.files,
  characters: characters + BOUND.characters,
});

/** Compares a whole memory, or the files below a path, at two times. */
export function ComparePage({ tenant }: { tenant: Tenant }) {
  const { query } = route.value;
  const at = query.get('at');
  const to = query.get('to');
  const path = query.get('path');
  const times = useDebounced(JSON.stringify({ at, to, path }), 250);
  const given = query.get('kind');
  const kind = isKind(given) ? given : null;
  const [bound, setBound] = useState(BOUND);
  const pages = usePages(
    'changes',
    (after, signal) => compareTimes(tenant.id, JSON.parse(times), after, signal),
    [tenant.id, times],
    'comparison',
  );
  const { items, more } = pages;
  const files = useMemo(() => items?.map(titledDiff), [items]);
  const characters = useMemo(
    () => items?.reduce((sum, { patch }) => sum + (patch?.length ?? 0), 0) ?? 0,
    [items],
  );
  const isFull = (items?.length ?? 0) >= bound.files || characters >= bound.characters;
  useEffect(() => {
    if (!isFull) more?.();
  }, [isFull, more]);
  const shown = useMemo(() => withKind(files ?? [], kind), [files, kind]);
  const diff = useRef<DiffViewHandle>(null);
  return (
    <div class="fills compare">
      <div class="fields">
        <TimeField
          isCoarse
          label="From"
          fallback="the beginning"
          value={at}
          onChange={(time) => replaceQuery({ at: time })}
        />
        <TimeField
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
        <div class="comparison">
          <ComparisonIndex
            files={files}
            shown={shown}
            kind={kind}
            onKind={(next) => replaceQuery({ kind: next })}
            onSelect={(file) => diff.current?.showFile(file)}
          />
          <section class="pane" aria-label="Differences">
            {more && isFull && (
              <p class="notice flat" role="status">
                The first {count(files.length, 'file')} of the comparison. A search finds only their lines.{' '}
                <Button text="Load more" onClick={() => setBound(raiseBound(files.length, characters))} />
              </p>
            )}
            <DiffView
              key={kind}
              handle={diff}
              files={shown}
              summary={`${count(shown.length, 'file')}${more ? (isFull ? ' and more' : ', loading more…') : ''}`}
            />
          </section>
        </div>
      )}
    </div>
  );
}
