import { useState } from 'preact/hooks';
import { canWrite } from '../../api/session.ts';
import type { Tenant } from '../../api/types.ts';
import { hrefOf, replaceQuery, route } from '../../router.ts';
import { count, formatTime } from '../../text/format.ts';
import { Icon } from '../../ui/icon.tsx';
import { Empty, LoadError, Loading } from '../../ui/messages.tsx';
import { useDebounced } from '../../ui/use-debounced.ts';
import { RestoreDialog } from '../history/restore-dialog.tsx';
import { Timeline } from '../history/timeline.tsx';
import { FilePane } from './file-pane.tsx';
import { NewFileDialog } from './new-file-dialog.tsx';
import { SearchResults } from './search-results.tsx';
import { TreeView } from './tree-view.tsx';
import { type LoadedTree, useTree } from './use-tree.ts';

/** The files of a tenant, now or at a time. The address says which file, and which time. */
export function MemoryPage({ tenant }: { tenant: Tenant }) {
  const { query } = route.value;
  const path = query.get('path');
  const at = query.get('at');
  // A slider passes many moments on its way.
  const settledAt = useDebounced(at, 120);
  const loaded = useTree(tenant.id, settledAt);
  return (
    <div class="memory">
      <Timeline tenant={tenant} at={at} onChange={(time) => replaceQuery({ at: time })} />
      {at !== null && <PastBanner tenant={tenant.id} at={at} />}
      <div class={path === null ? 'panes' : 'panes has-file'}>
        <section class="pane tree-pane" aria-label="Files of the tenant">
          <TreePane tenant={tenant.id} at={at} path={path} loaded={loaded} />
        </section>
        <section class="pane file-pane" aria-label="File">
          {path === null ? (
            <Empty title="Select a file">
              <p>Move the slider above to see the whole memory as it was.</p>
            </Empty>
          ) : (
            <FilePane
              key={path}
              tenant={tenant.id}
              path={path}
              at={settledAt}
              line={Number(query.get('line')) || null}
              entry={loaded.tree?.nodes.get(path)?.entry}
            />
          )}
        </section>
      </div>
    </div>
  );
}

function PastBanner({ tenant, at }: { tenant: string; at: string }) {
  const [isRestoring, setIsRestoring] = useState(false);
  return (
    <div class="past-banner" role="status">
      <Icon name="clock" />
      <span>
        The memory as it was at <strong>{formatTime(at)}</strong>
      </span>
      <span class="spacer" />
      <a class="button" href={hrefOf(['tenants', tenant, 'compare'], { at })}>
        <Icon name="compare" /> Compare with now
      </a>
      {canWrite.value && (
        <button type="button" onClick={() => setIsRestoring(true)}>
          <Icon name="restore" /> Restore everything…
        </button>
      )}
      <button type="button" class="primary" onClick={() => replaceQuery({ at: null })}>
        Back to now
      </button>
      {isRestoring && (
        <RestoreDialog
          tenant={tenant}
          target={{ at }}
          what={`the whole memory as it was at ${formatTime(at)}`}
          onClose={() => setIsRestoring(false)}
        />
      )}
    </div>
  );
}

interface TreePaneProps {
  tenant: string;
  at: string | null;
  path: string | null;
  loaded: LoadedTree;
}

function TreePane({ tenant, at, path, loaded }: TreePaneProps) {
  const { tree, redacted, error, isLoading } = loaded;
  const [search, setSearch] = useState('');
  const [isCreating, setIsCreating] = useState(false);
  const open = (file: string, line: number | null = null) => replaceQuery({ path: file, line });
  return (
    <>
      <div class="pane-head">
        <label class="search-field">
          <span class="visually-hidden">Search names and contents</span>
          <Icon name="search" />
          <input
            type="search"
            placeholder="Search names and contents"
            value={search}
            onInput={(event) => setSearch(event.currentTarget.value)}
          />
        </label>
        {canWrite.value && at === null && (
          <button type="button" onClick={() => setIsCreating(true)}>
            <Icon name="plus" /> New file
          </button>
        )}
      </div>
      {search.trim() !== '' ? (
        <SearchResults {...{ tenant, at }} query={search.trim()} onOpen={open} />
      ) : error !== undefined ? (
        <LoadError error={error} />
      ) : tree === undefined ? (
        <Loading what="files" />
      ) : tree.nodes.size === 0 && !isLoading ? (
        <Empty title={at === null ? 'No files yet' : 'There were no files'} />
      ) : (
        <TreeView tree={tree} selected={path} onSelect={open} isBusy={isLoading} />
      )}
      <p class="pane-foot muted small" role="status">
        {tree && count(tree.files, 'file')}
        {tree && isLoading ? ' · loading…' : ''}
        {redacted > 0 && ` · ${count(redacted, 'redacted file')} not shown`}
      </p>
      {isCreating && <NewFileDialog {...{ tenant }} onCreated={open} onClose={() => setIsCreating(false)} />}
    </>
  );
}
