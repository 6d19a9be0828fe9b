import { useRef, useState } from 'preact/hooks';
import type { Tenant } from '../../api/api-types.ts';
import { listVersions } from '../../api/history-api.ts';
import { canWrite } from '../../api/session-state.ts';
import { pushQuery, route } from '../../router.ts';
import { formatDay } from '../../text/format.ts';
import { isBefore } from '../../text/time.ts';
import { fromFields, toFields } from '../../text/zone.ts';
import { Load } from '../../ui/load.tsx';
import { RowButton } from '../../ui/row-button.tsx';
import { Empty } from '../../ui/status-messages.tsx';
import { useDebounced } from '../../ui/use-debounced.ts';
import { usePages } from '../../ui/use-pages.ts';
import { RevertDialog } from './revert-dialog.tsx';
import { VersionComparison } from './version-comparison.tsx';
import { actorLabel, Filters, filterActor, readFilter } from './version-filters.tsx';
import { VersionList } from './version-list.tsx';
import { VersionPane } from './version-pane.tsx';

const PAGE = 200;

/**
 * Lists the tenant's versions that match the filters in the URL. Shows the selected version's changes, or a comparison
 * between two versions.
 */
export function HistoryPage({ tenant }: { tenant: Tenant }) {
  const { query } = route.value;
  const filter = readFilter(query);
  const actor = filterActor(filter);
  const chosen = query.get('version');
  const against = query.get('against');
  const debounced = useDebounced(JSON.stringify(filter), 250);
  const pages = usePages(
    'versions',
    (after, signal) => listVersions(tenant.id, { ...JSON.parse(debounced), after, limit: PAGE }, signal),
    [tenant.id, debounced],
    'versions',
  );
  const { items } = pages;
  /** The newest version when the list was loaded. A later change does not replace the version that is read. */
  const first = useRef<string>(undefined);
  if (!items?.some(({ id }) => id === first.current)) first.current = items?.[0]?.id;
  const selected = chosen ?? first.current ?? null;
  // A time in the day whose changes by the filtered actor are about to be reverted.
  const [reverting, setReverting] = useState<string | null>(null);
  return (
    <div class={chosen === null ? 'panes history' : 'panes history has-file'}>
      <section class="pane" aria-label="Versions">
        <Filters query={query} versions={items ?? []} />
        <Load of={{ ...pages, data: items }} what="versions">
          {(versions) =>
            versions.length === 0 ? (
              <Empty title="No versions match" />
            ) : (
              <VersionList
                versions={versions}
                selected={selected}
                isChosen={chosen !== null}
                onSelect={(version) => pushQuery({ version, against: null })}
                onEnd={pages.more}
                isGrouped
                dayAction={
                  canWrite.value && actor !== null
                    ? (time) => (
                        <RowButton
                          text="Revert…"
                          of={`the changes of ${formatDay(time)}`}
                          onClick={() => setReverting(time)}
                        />
                      )
                    : undefined
                }
              />
            )
          }
        </Load>
      </section>
      <section class="pane file-pane" aria-label="Version">
        {selected === null ? (
          <Empty title="No version is selected" />
        ) : against !== null ? (
          <VersionComparison tenant={tenant.id} from={against} to={selected} />
        ) : (
          <VersionPane key={selected} tenant={tenant.id} id={selected} />
        )}
      </section>
      {reverting !== null && actor !== null && (
        <RevertDialog
          tenant={tenant.id}
          actor={actor}
          name={actorLabel(actor, items ?? [])}
          {...localDay(reverting, tenant.history_since)}
          onClose={() => setReverting(null)}
        />
      )}
    </div>
  );
}

/** Returns the day in the chosen time zone that contains a time, limited to the history. A day that has not ended has no end. */
function localDay(time: string, earliest: string): { since: string; until: string | null } {
  const [start, end] = [toFields(time), toFields(time)];
  start.setHours(0, 0, 0, 0);
  end.setHours(23, 59, 59, 999);
  const since = new Date(fromFields(start)).toISOString();
  const last = fromFields(end);
  return {
    since: isBefore(since, earliest) ? earliest : since,
    until: last < Date.now() ? new Date(last).toISOString() : null,
  };
}
