import { useLayoutEffect, useState } from 'preact/hooks';
import type { Tenant } from '../../api/api-types.ts';
import { canManage, canWrite } from '../../api/session-state.ts';
import { pushQuery, replaceQuery, route, toHref } from '../../router.ts';
import { count, formatChosenTime } from '../../text/format.ts';
import { Button } from '../../ui/button.tsx';
import { Icon } from '../../ui/icon.tsx';
import { IconButton } from '../../ui/icon-button.tsx';
import { Empty, LoadError, Loading } from '../../ui/status-messages.tsx';
import { useDebounced } from '../../ui/use-debounced.ts';
import { Timeline } from '../history/history-timeline.tsx';
import { RestoreDialog } from '../history/restore.ts';
import { SearchResults } from '../search/search-results.tsx';
import { ConnectAgent } from './connect-agent.tsx';
import { DirectoryPane } from './directory-pane.tsx';
import { FilePane } from './file-pane.tsx';
import { NewFileDialog } from './new-file-dialog.tsx';
import { MemorySummary } from './summary.tsx';
import { findEntry, ROOT } from './tree.ts';
import { TreeView } from './tree-view.tsx';
import { type UsedTree, useTree } from './use-tree.ts';

/** Shows a tenant's files at a time. The URL selects the file and the time. */
export function MemoryPage({ tenant }: { tenant: Tenant }) {
  const { query } = route.value;
  const path = query.get('path');
  const at = query.get('at');
  // Dragging the slider selects many times, so only the last one is loaded.
  const debouncedAt = useDebounced(at, 120);
  // Files load before the timeline, because counting the changes in a long history takes seconds.
  const [hasFiles, setHasFiles] = useState(false);
  // A new memory has no timeline. The steps stay after the first change, which they show.
  const [isNew] = useState(tenant.last_change_at === null && tenant.draft_of === null && canManage.value);
  return (
    <div class="fills memory">
      {isNew ? (
        <ConnectAgent tenant={tenant.id} />
      ) : hasFiles ? (
        <Timeline
          tenant={tenant}
          at={at}
          onChange={(time) => replaceQuery({ at: time })}
          past={{
            text: 'The memory as it was at',
            actions: at && <PastActions tenant={tenant.id} at={at} />,
          }}
        />
      ) : (
        <div class="timeline-space" />
      )}
      <Panes
        tenant={tenant}
        path={path}
        at={debouncedAt}
        line={Number(query.get('line')) || null}
        onLoaded={() => setHasFiles(true)}
      />
    </div>
  );
}

interface PanesProps {
  tenant: Tenant;
  at: string | null;
  path: string | null;
  line: number | null;
  /** Called when the tree has loaded with the selected file, or failed to load. */
  onLoaded: () => void;
}

function Panes({ tenant, at, path, line, onLoaded }: PanesProps) {
  const { loader, state } = useTree(tenant, at, path);
  const { tree, total } = state;
  const isLoaded = tree !== undefined || state.error !== undefined;
  const isShown = isLoaded && !state.isLoading;
  useLayoutEffect(() => {
    if (isShown) onLoaded();
  }, [isShown]);
  const entry = path === null || tree === undefined ? undefined : findEntry(tree, path);
  const place = { tenant: tenant.id, at };
  const all = at === null ? { files: tenant.files, bytes: tenant.bytes } : total;
  return (
    <div class={path === null ? 'panes' : 'panes has-file'}>
      <section class="pane tree-pane" aria-label="Files of the tenant">
        <TreePane tenant={tenant} at={at} path={path} loader={loader} state={state} />
      </section>
      <section class="pane file-pane" aria-label="File">
        {path === null ? (
          <MemorySummary tenant={tenant} at={at} size={all} />
        ) : !isLoaded ? (
          <Loading what="the files" />
        ) : path === ROOT || entry?.kind === 'directory' ? (
          <DirectoryPane
            key={path}
            {...place}
            path={path}
            size={path === ROOT ? all : tree?.sizes.get(path)}
          />
        ) : (
          <FilePane key={path} {...place} path={path} line={line} entry={entry} />
        )}
      </section>
    </div>
  );
}

function PastActions({ tenant, at }: { tenant: string; at: string }) {
  const [isRestoring, setIsRestoring] = useState(false);
  return (
    <>
      <a class="button" href={toHref(['tenants', tenant, 'compare'], { at })}>
        <Icon name="compare" /> Compare with now
      </a>
      {canWrite.value && (
        <Button icon="restore" text="Restore everything…" onClick={() => setIsRestoring(true)} />
      )}
      <Button text="Back to now" class="primary" onClick={() => replaceQuery({ at: null })} />
      {isRestoring && (
        <RestoreDialog
          tenant={tenant}
          target={{ at }}
          what={`the whole memory as it was at ${formatChosenTime(at)}`}
          onClose={() => setIsRestoring(false)}
        />
      )}
    </>
  );
}

type TreePaneProps = Pick<PanesProps, 'tenant' | 'at' | 'path'> & UsedTree;

function TreePane({ tenant, at, path, loader, state }: TreePaneProps) {
  const { tree, total, error, isLoading } = state;
  // The URL has the search, so that Back from a file and a link show the results.
  const search = route.value.query.get('q') ?? '';
  const [isCreating, setIsCreating] = useState(false);
  const open = (file: string, line: number | null = null) => pushQuery({ path: file, line });
  const files = at === null ? tenant.files : total?.files;
  const mounts = at === null ? tenant.mounts : [];
  const isEmpty = tree?.directories.get(ROOT)?.every(({ entries }) => entries.length === 0) ?? true;
  return (
    <>
      <div class="row pane-head">
        <label class="search-field">
          <span class="visually-hidden">Search names and contents</span>
          <Icon name="search" />
          <input
            type="search"
            placeholder="Search"
            value={search}
            onInput={(event) => replaceQuery({ q: event.currentTarget.value })}
          />
        </label>
        {canWrite.value && at === null && (
          <button type="button" aria-label="New file" onClick={() => setIsCreating(true)}>
            <Icon name="plus" /> <span class="new-file-text">New file</span>
          </button>
        )}
        <IconButton
          icon="more"
          label="All files"
          title="All files: upload, download, and history"
          onClick={() => open(ROOT)}
        />
      </div>
      {search.trim() !== '' ? (
        <SearchResults at={at} tenant={tenant.id} query={search.trim()} onOpen={open} />
      ) : error !== undefined ? (
        <LoadError error={error} onRetry={() => loader.reload()} />
      ) : tree === undefined || (isEmpty && isLoading) ? (
        <Loading what="files" />
      ) : isEmpty && !isLoading && mounts.length === 0 ? (
        <Empty title={at === null ? 'No files yet' : 'There were no files'} />
      ) : (
        <TreeView loader={loader} state={state} tree={tree} mounts={mounts} selected={path} onSelect={open} />
      )}
      <p class="pane-foot muted small" role="status">
        {files === undefined ? '' : count(files, 'file')}
        {tree && isLoading ? ' · loading…' : ''}
        {at !== null &&
          total &&
          total.redacted > 0 &&
          ` · ${count(total.redacted, 'redacted file')} not shown`}
      </p>
      {isCreating && (
        <NewFileDialog tenant={tenant.id} onCreated={open} onClose={() => setIsCreating(false)} />
      )}
    </>
  );
}
