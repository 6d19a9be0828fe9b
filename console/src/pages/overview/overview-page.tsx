import type { FleetUsage, Tenant } from '../../api/api-types.ts';
import { type DraftsPage, listDrafts } from '../../api/drafts-api.ts';
import { type Job, listJobs } from '../../api/incidents-api.ts';
import { canManageFleet } from '../../api/session-state.ts';
import { getActivity, getFleetUsage, listTenants } from '../../api/tenants-api.ts';
import { useChanges } from '../../api/use-changes.ts';
import { replaceQuery, route, toHref } from '../../router.ts';
import { count, formatBytes, formatNumber } from '../../text/format.ts';
import { dayBar, lastDays, UsageCharts } from '../../ui/bar-chart.tsx';
import type { Bar } from '../../ui/bar-plot.tsx';
import { SelectField } from '../../ui/fields.tsx';
import { Time } from '../../ui/inline.tsx';
import { Load } from '../../ui/load.tsx';
import { LostNotice } from '../../ui/lost.tsx';
import { useLoad } from '../../ui/use-load.ts';
import { CardList, Row, TenantName } from './card-list.tsx';
import { LastHour } from './last-hour.tsx';
import { Totals } from './totals.tsx';
import { Jobs, OpenDrafts } from './waiting.tsx';

const SPANS = { '7': '7 days', '30': '30 days', '90': '90 days' };
/** Percentage that the service uses for `near_limit`. */
const NEAR_LIMIT = 90;
const ROWS = 5;
/** Minimum time between two loads, because each one reads all tenants' totals. */
const REST_MS = 5000;
const POLL_MS = 15_000;

/** Shows the last hour, items that may need an operator, and the usage by all tenants. */
export function OverviewPage() {
  const days = Number(route.value.query.get('days') ?? 30);
  const span = days in SPANS ? days : 30;
  const overview = useLoad(
    async (signal) => {
      const [activity, usage, near, suspended, drafts, { jobs }] = await Promise.all([
        getActivity(signal),
        getFleetUsage(`${span - 1}d`, signal),
        listTenants({ near_limit: NEAR_LIMIT, sort: 'used', limit: ROWS }, signal),
        listTenants({ status: 'suspended', sort: 'changed', limit: ROWS }, signal),
        listDrafts(undefined, { state: 'open', limit: ROWS }, signal),
        listJobs(null, signal),
      ]);
      return { activity, usage, near: near.tenants, suspended: suspended.tenants, drafts, jobs };
    },
    [span],
    undefined,
    // Reads, rejections, and a job's progress are no changes.
    POLL_MS,
  );
  const { reload } = overview;
  useChanges(overview.data !== undefined ? 'changes' : null, {
    restMs: REST_MS,
    onChange(_signal, isStart) {
      if (!isStart) void reload();
    },
  });
  return (
    <main class="overview">
      <div class="page-head">
        <h1>Overview</h1>
      </div>
      <LostNotice lost={overview.lost} />
      <Load of={overview} what="the overview">
        {(data) => (
          <>
            <LastHour activity={data.activity} />
            <Attention {...data} total={data.usage.total} />
            <AllTenants usage={data.usage} span={span} />
          </>
        )}
      </Load>
    </main>
  );
}

interface AttentionProps {
  near: Tenant[];
  suspended: Tenant[];
  drafts: DraftsPage;
  jobs: Job[];
  total: FleetUsage['total'];
}

/** Tenants, drafts, and jobs that may need an operator. */
function Attention({ near, suspended, drafts, jobs, total }: AttentionProps) {
  return (
    <section aria-labelledby="attention">
      <div class="page-head">
        <h2 id="attention">Attention</h2>
        {canManageFleet.value && (
          <a href={toHref(['webhooks'], { new: 'alerts' })}>Send these to a webhook</a>
        )}
      </div>
      <div class="overview-lists">
        <CardList
          title="Near a limit"
          all={toHref([], { state: 'near-limit', sort: 'used' })}
          empty={`No tenant uses ${NEAR_LIMIT} % of a limit.`}
          total={total.near_limit}
        >
          {near.map(({ id, used_percent: percent }) => (
            <Row key={id} subject={<TenantName id={id} />}>{`${percent} %`}</Row>
          ))}
        </CardList>
        <CardList
          title="Suspended"
          all={toHref([], { state: 'suspended' })}
          empty="No tenant is suspended."
          total={total.suspended}
        >
          {suspended.map(({ id, suspended_at: since }) => (
            <Row key={id} subject={<TenantName id={id} />}>
              {since && <Time value={since} isAge />}
            </Row>
          ))}
        </CardList>
        <OpenDrafts {...drafts} />
        <Jobs jobs={jobs} />
      </div>
    </section>
  );
}

function AllTenants({ usage, span }: { usage: FleetUsage; span: number }) {
  const { total } = usage;
  return (
    <section aria-labelledby="usage">
      <div class="page-head">
        <h2 id="usage">All tenants</h2>
        <SelectField
          class="inline"
          label="Show"
          texts={SPANS}
          value={String(span)}
          onChange={(value) => replaceQuery({ days: value })}
        />
      </div>
      <Totals
        facts={[
          ['Tenants', formatNumber(total.tenants), toHref([])],
          ['Files', formatNumber(total.files), toHref([], { sort: 'files' })],
          ['Size', formatBytes(total.bytes), toHref([], { sort: 'bytes' })],
          ['History', formatBytes(total.history_bytes)],
          ['Near a limit', formatNumber(total.near_limit), toHref([], { state: 'near-limit', sort: 'used' })],
          ['Suspended', formatNumber(total.suspended), toHref([], { state: 'suspended' })],
        ]}
      />
      <Charts usage={usage} days={lastDays(span)} />
      <div class="overview-lists">
        <CardList title="Most active tenants" empty="No tenants sent requests.">
          {usage.most_active.slice(0, ROWS).map(({ tenant, reads, writes, rejected }) => (
            <Row key={tenant} subject={<TenantName id={tenant} />}>
              {count(reads + writes, 'call')}
              {rejected > 0 && `, ${formatNumber(rejected)} rejected`}
            </Row>
          ))}
        </CardList>
      </div>
    </section>
  );
}

function Charts({ usage, days }: { usage: FleetUsage; days: string[] }) {
  const recorded = new Map(usage.days.map((each) => [each.day, each]));
  const bars = (dayValues: (day: FleetUsage['days'][number]) => number[]): Bar[] =>
    days.map((day) => {
      const found = recorded.get(day);
      return dayBar(day, found === undefined ? [] : dayValues(found));
    });
  return (
    <section class="card charts" aria-label="Usage over time">
      <UsageCharts
        calls={bars(({ reads, writes, rejected }) => [reads, writes, rejected])}
        sizes={bars(({ bytes }) => (bytes === null ? [] : [bytes]))}
      />
    </section>
  );
}
