import { changesMade } from '../../api/changes.ts';
import { listVersions } from '../../api/history.ts';
import type { Tenant, Version } from '../../api/types.ts';
import { replaceQuery, route } from '../../router.ts';
import { formatBytes } from '../../text/format.ts';
import { visible } from '../../text/visible.tsx';
import { ActorName, Time } from '../../ui/inline.tsx';
import { Empty, LoadError, Loading } from '../../ui/messages.tsx';
import { useDebounced } from '../../ui/use-debounced.ts';
import { type Pages, usePages } from '../../ui/use-pages.ts';
import { VirtualList } from '../../ui/virtual-list.tsx';
import { VersionPane } from './version-pane.tsx';

const PAGE = 100;

/** The versions of a tenant, filtered as the address says, and what one of them changed. */
export function HistoryPage({ tenant }: { tenant: Tenant }) {
  const { query } = route.value;
  const filter = {
    path: query.get('path') ?? undefined,
    by: query.get('by') ?? undefined,
    operation: query.get('operation') ?? undefined,
  };
  const selected = query.get('version');
  const settled = useDebounced(JSON.stringify(filter), 250);
  const pages = usePages(
    async (after, signal) => {
      const query = { ...JSON.parse(settled), after, limit: PAGE };
      const { versions, next } = await listVersions(tenant.id, query, signal);
      return { items: versions, next };
    },
    [tenant.id, settled, changesMade.value],
  );
  return (
    <div class={selected === null ? 'panes history' : 'panes history has-file'}>
      <section class="pane" aria-label="Versions">
        <Filters {...filter} />
        <VersionList {...{ pages, selected }} />
      </section>
      <section class="pane file-pane" aria-label="Version">
        {selected === null ? (
          <Empty title="Select a version to see what it changed" />
        ) : (
          <VersionPane key={selected} tenant={tenant.id} id={selected} />
        )}
      </section>
    </div>
  );
}

function Filters(filter: {
  path: string | undefined;
  by: string | undefined;
  operation: string | undefined;
}) {
  return (
    <div class="pane-head wraps">
      <label class="whole-row">
        <span class="visually-hidden">Path</span>
        <input
          type="search"
          placeholder="Path"
          value={filter.path ?? ''}
          onInput={(event) => replaceQuery({ path: event.currentTarget.value })}
        />
      </label>
      <label class="grows">
        <span class="visually-hidden">Actor</span>
        <input
          type="search"
          placeholder="Actor: key, subject, name"
          value={filter.by ?? ''}
          onInput={(event) => replaceQuery({ by: event.currentTarget.value })}
        />
      </label>
      <label>
        <span class="visually-hidden">Operation</span>
        <select
          value={filter.operation ?? ''}
          onChange={(event) => replaceQuery({ operation: event.currentTarget.value })}
        >
          <option value="">All changes</option>
          <option value="created">Created</option>
          <option value="modified">Modified</option>
          <option value="renamed">Renamed</option>
          <option value="deleted">Deleted</option>
        </select>
      </label>
    </div>
  );
}

function VersionList({ pages, selected }: { pages: Pages<Version>; selected: string | null }) {
  const versions = pages.items;
  if (pages.error !== undefined) return <LoadError error={pages.error} onRetry={pages.reload} />;
  if (versions === undefined) return <Loading what="versions" />;
  if (versions.length === 0) return <Empty title="No versions match" />;
  return (
    <VirtualList
      class="versions"
      kind="list"
      label="Versions"
      count={versions.length}
      rowHeight={56}
      onEnd={pages.more}
    >
      {(index) => {
        const version = versions[index];
        return version && <VersionRow version={version} isSelected={version.id === selected} />;
      }}
    </VirtualList>
  );
}

function VersionRow({ version, isSelected }: { version: Version; isSelected: boolean }) {
  const { path, operation, created_at, actor, content_size_bytes } = version;
  return (
    <div>
      <button
        type="button"
        class="version-row"
        aria-pressed={isSelected}
        onClick={() => replaceQuery({ version: version.id })}
      >
        <span class="version-line">
          <span class={`change ${operation}`}>{operation}</span>
          <bdi class="version-path">
            {path === null ? '(redacted)' : visible(path.replace('/memories/', ''))}
          </bdi>
        </span>
        <span class="version-line muted small">
          <ActorName actor={actor} />
          <span class="spacer" />
          {content_size_bytes !== null && <span>{formatBytes(content_size_bytes)}</span>}
          <Time value={created_at} isAge />
        </span>
      </button>
    </div>
  );
}
