import { Fragment } from 'preact';
import type { Tenant } from '../../api/api-types.ts';
import { changesMade, historyLosses, noteChange } from '../../api/change-signals.ts';
import { getTenant, listOwnMounts, tenantPath } from '../../api/tenants-api.ts';
import { useChanges } from '../../api/use-changes.ts';
import { route, toHref } from '../../router.ts';
import { Nav } from '../../shell/nav.tsx';
import { tenantSections } from '../../shell/sections.ts';
import { count, formatBytes, formatNumber } from '../../text/format.ts';
import { lazy } from '../../ui/lazy.tsx';
import { Load } from '../../ui/load.tsx';
import { MountProblem } from '../../ui/mount-problem.tsx';
import { Name, NameLink } from '../../ui/name.tsx';
import { useLoad } from '../../ui/use-load.ts';
import { WithTimes } from '../history/with-times.tsx';
import { MemoryPage } from '../memory/memory-page.tsx';
import { About, StatusBadge } from './about.tsx';

const HistoryPage = lazy(
  'the history',
  async () => (await import('../history/history-page.tsx')).HistoryPage,
);

const SettingsPage = lazy(
  'the settings',
  async () => (await import('../settings/settings-page.tsx')).SettingsPage,
);

const ComparePage = lazy(
  'the comparison',
  async () => (await import('../history/compare-page.tsx')).ComparePage,
);

const DraftsSection = lazy(
  'the drafts',
  async () => (await import('../drafts/drafts-section.tsx')).DraftsSection,
);

const DraftPage = lazy('the draft', async () => (await import('../drafts/draft-page.tsx')).DraftPage);

const PlaygroundPage = lazy(
  'the playground',
  async () => (await import('../memory/playground-page.tsx')).PlaygroundPage,
);

/** Tabs that reload after changes by anyone, with the minimum time between two loads. */
const LIVE: Record<string, number> = { '': 1000, history: 1000, compare: 5000 };

export function TenantPage({ tenant }: { tenant: string }) {
  const [, , current = '', item] = route.value.segments;
  const loaded = useLoad(
    (signal) => loadTenant(tenant, signal),
    [tenant, changesMade.value, historyLosses.value],
  );
  const { data } = loaded;
  const { [current]: restMs = 0 } = LIVE;
  const isLive = data !== undefined && restMs > 0;
  useChanges(isLive ? tenantPath(tenant, '/changes') : null, {
    restMs,
    async onChange(signal) {
      const { last_change_at, status } = await getTenant(tenant, signal);
      if (last_change_at !== data?.last_change_at || status !== data?.status) noteChange();
    },
  });
  return (
    <main class={current === '' ? 'tenant fills' : 'tenant'}>
      <div class="controls tenant-head">
        <h1>
          <a href="#/">Tenants</a> <span aria-hidden="true">/</span>
          <Name text={tenant} copies="the ID of the tenant" />
        </h1>
        {data && <TenantSummary tenant={data} />}
        {data && <About parts={[data.name === data.id ? '' : data.name, data.description]} />}
        <Nav label="Tenant" class="tabs" sections={tenantSections(tenant)} />
      </div>
      <Load of={loaded} what="the tenant">
        {(found) => <TenantTab tenant={found} tab={current} item={item} />}
      </Load>
    </main>
  );
}

/** Loads a tenant, with the statuses for its mounts. */
async function loadTenant(id: string, signal: AbortSignal): Promise<Tenant> {
  const tenant = await getTenant(id, signal);
  return tenant.mounts.length === 0 ? tenant : { ...tenant, mounts: await listOwnMounts(id, signal) };
}

/** Maximum number of mounts in the header. The settings list all mounts. */
const SHOWN_MOUNTS = 3;

function TenantSummary({ tenant }: { tenant: Tenant }) {
  const { id, draft_of, files, bytes, mounts } = tenant;
  const hidden = mounts.length - SHOWN_MOUNTS;
  return (
    <p class="cluster summary muted small">
      <StatusBadge tenant={tenant} />
      <span>
        {count(files, 'file')} · {formatBytes(bytes)}
      </span>
      {draft_of === null && (
        <>
          · <a href={toHref(['audit'], { tenant: id })}>Audit trail</a>
        </>
      )}
      {draft_of !== null && (
        <>
          · draft of
          <NameLink href={toHref(['tenants', draft_of])} text={draft_of} />
          <a href={toHref(['tenants', draft_of, 'drafts', id])}>Review</a>
        </>
      )}
      {mounts.length > 0 && '· mounts'}
      {mounts.slice(0, SHOWN_MOUNTS).map(({ name, tenant: mounted, status }) => (
        <Fragment key={name}>
          {mounted === null || status === 'missing' ? (
            <Name text={`/memories/${name}`} />
          ) : (
            <NameLink href={toHref(['tenants', mounted])} text={`/memories/${name}`} />
          )}
          <MountProblem status={status} />
        </Fragment>
      ))}
      {hidden > 0 && <a href={toHref(['tenants', id, 'settings'])}>and {formatNumber(hidden)} more</a>}
    </p>
  );
}

function TenantTab({ tenant, tab, item }: { tenant: Tenant; tab: string; item: string | undefined }) {
  switch (tab) {
    case 'history':
      return <HistoryPage tenant={tenant} />;
    case 'compare':
      return (
        <WithTimes tenant={tenant} times={{ at: 'Compare from the beginning', to: 'Compare with now' }}>
          <ComparePage tenant={tenant} />
        </WithTimes>
      );
    case 'drafts':
      return item === undefined ? (
        <DraftsSection tenant={tenant.id} />
      ) : (
        <DraftPage key={item} tenant={tenant} id={item} />
      );
    case 'playground':
      return <PlaygroundPage key={tenant.id} tenant={tenant} />;
    case 'settings':
      return <SettingsPage tenant={tenant} />;
    default:
      return (
        <WithTimes tenant={tenant} times={{ at: 'Show the memory as it is now' }}>
          <MemoryPage key={tenant.id} tenant={tenant} />
        </WithTimes>
      );
  }
}
