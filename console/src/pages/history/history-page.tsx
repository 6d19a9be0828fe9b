import { changesMade } from '../../api/changes.ts';
import { listVersions } from '../../api/history.ts';
import type { Tenant } from '../../api/types.ts';
import { pushQuery, route } from '../../router.ts';
import { Empty, LoadError, Loading } from '../../ui/messages.tsx';
import { useDebounced } from '../../ui/use-debounced.ts';
import { usePages } from '../../ui/use-pages.ts';
import { Filters, filterOf } from './filters.tsx';
import { NewChanges } from './new-changes.tsx';
import { VersionComparison } from './version-comparison.tsx';
import { VersionList } from './version-list.tsx';
import { VersionPane } from './version-pane.tsx';

const PAGE = 100;

/**
 * Lists the versions of a tenant that match the filters in the URL. Shows the changes of the selected version, or a
 * comparison of two versions.
 */
export function HistoryPage({ tenant }: { tenant: Tenant }) {
  const { query } = route.value;
  const filter = filterOf(query);
  const selected = query.get('version');
  const against = query.get('against');
  const settled = useDebounced(JSON.stringify(filter), 250);
  const pages = usePages(
    async (after, signal) => {
      const page = { ...JSON.parse(settled), after, limit: PAGE };
      const { versions, next } = await listVersions(tenant.id, page, signal);
      return { items: versions, next };
    },
    [tenant.id, settled, changesMade.value],
  );
  const { items, error, reload, more } = pages;
  return (
    <div class={selected === null ? 'panes history' : 'panes history has-file'}>
      <section class="pane" aria-label="Versions">
        <Filters filter={filter} versions={items ?? []} />
        <NewChanges tenant={tenant} />
        {error !== undefined ? (
          <LoadError error={error} onRetry={reload} />
        ) : items === undefined ? (
          <Loading what="versions" />
        ) : items.length === 0 ? (
          <Empty title="No versions match" />
        ) : (
          <VersionList
            versions={items}
            selected={selected}
            onSelect={(version) => pushQuery({ version, against: null })}
            onEnd={more}
          />
        )}
      </section>
      <section class="pane file-pane" aria-label="Version">
        {selected === null ? (
          <Empty title="Select a version to see its changes" />
        ) : against !== null ? (
          <VersionComparison tenant={tenant.id} from={against} to={selected} />
        ) : (
          <VersionPane key={selected} tenant={tenant.id} id={selected} />
        )}
      </section>
    </div>
  );
}
