import type { ComponentChildren } from 'preact';
import type { FleetUsage, Tenant } from '../../api/api-types.ts';
import { getFleetUsage, listTenants } from '../../api/tenants-api.ts';
import { useChanges } from '../../api/use-changes.ts';
import { replaceQuery, route, toHref } from '../../router.ts';
import { count, formatBytes, formatNumber } from '../../text/format.ts';
import { BarChart, dayBar, lastDays } from '../../ui/bar-chart.tsx';
import type { Bar } from '../../ui/bar-plot.tsx';
import { Time } from '../../ui/inline.tsx';
import { Name } from '../../ui/name.tsx';
import { Options } from '../../ui/options.tsx';
import { LoadError, Loading } from '../../ui/status-messages.tsx';
import { useLoad } from '../../ui/use-load.ts';

const SPANS = { '7': '7 days', '30': '30 days', '90': '90 days' };
/** Percentage that the service uses for `near_limit`. */
const NEAR_LIMIT = 90;
const ROWS = 5;
/** Minimum time between two loads, because each one reads all tenants' totals. */
const REST_MS = 5000;

/** Shows the total usage by all tenants, and the tenants that need attention. */
export function OverviewPage() {
  const days = Number(route.value.query.get('days') ?? 30);
  const span = days in SPANS ? days : 30;
  const { data, error, reload } = useLoad(
    async (signal) => {
      const [usage, near, suspended] = await Promise.all([
        getFleetUsage(`${span - 1}d`, signal),
        listTenants({ near_limit: NEAR_LIMIT, sort: 'used', limit: ROWS }, signal),
        listTenants({ status: 'suspended', sort: 'changed', limit: ROWS }, signal),
      ]);
      return { usage, near: near.tenants, suspended: suspended.tenants };
    },
    [span],
  );
  useChanges(data === undefined ? null : 'changes', {
    restMs: REST_MS,
    onChange(_signal, isStart) {
      if (!isStart) reload();
    },
  });
  return (
    <main>
      <div class="page-head">
        <h1>Overview</h1>
        <label class="inline">
          Show
          <select
            value={String(span)}
            onChange={(event) => replaceQuery({ days: event.currentTarget.value })}
          >
            <Options texts={SPANS} />
          </select>
        </label>
      </div>
      {error !== undefined && <LoadError error={error} onRetry={reload} />}
      {data === undefined && error === undefined && <Loading what="the overview" />}
      {data && (
        <>
          <Totals total={data.usage.total} />
          <Charts usage={data.usage} days={lastDays(span)} />
          <div class="overview-lists">
            <TenantList
              title="Near a limit"
              all={toHref([], { state: 'near-limit', sort: 'used' })}
              empty={`No tenant uses ${NEAR_LIMIT} % of a limit.`}
              tenants={data.near}
              total={data.usage.total.near_limit}
              renderValue={(tenant) => `${tenant.used_percent} %`}
            />
            <TenantList
              title="Suspended"
              all={toHref([], { state: 'suspended' })}
              empty="No tenant is suspended."
              tenants={data.suspended}
              total={data.usage.total.suspended}
              renderValue={({ suspended_at: since }) => since && <Time value={since} isAge />}
            />
            <section class="card">
              <h2>Most active</h2>
              <Rows empty="No tenants sent requests.">
                {data.usage.most_active.slice(0, ROWS).map(({ tenant, reads, writes, rejected }) => (
                  <Row key={tenant} id={tenant}>
                    {count(reads + writes, 'call')}
                    {rejected > 0 && `, ${formatNumber(rejected)} rejected`}
                  </Row>
                ))}
              </Rows>
            </section>
          </div>
        </>
      )}
    </main>
  );
}

function Totals({ total }: { total: FleetUsage['total'] }) {
  const facts = [
    ['Tenants', formatNumber(total.tenants)],
    ['Files', formatNumber(total.files)],
    ['Size', formatBytes(total.bytes)],
    ['History', formatBytes(total.history_bytes)],
    ['Near a limit', formatNumber(total.near_limit)],
    ['Suspended', formatNumber(total.suspended)],
  ];
  return (
    <dl class="totals">
      {facts.map(([name, value]) => (
        <div class="card" key={name}>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  );
}

const CALLS = [
  { name: 'reads', color: 'series-0' },
  { name: 'writes', color: 'series-2' },
  { name: 'rejected', color: 'series-7' },
];

function Charts({ usage, days }: { usage: FleetUsage; days: string[] }) {
  const recorded = new Map(usage.days.map((each) => [each.day, each]));
  const bars = (dayValues: (day: FleetUsage['days'][number]) => number[]): Bar[] =>
    days.map((day) => {
      const found = recorded.get(day);
      return dayBar(day, found === undefined ? [] : dayValues(found));
    });
  return (
    <section class="card charts" aria-label="Usage over time">
      <BarChart
        period="day"
        title="Calls"
        series={CALLS}
        bars={bars(({ reads, writes, rejected }) => [reads, writes, rejected])}
        format={formatNumber}
      />
      <BarChart
        period="day"
        title="Size of all files"
        series={[{ name: 'in all files', color: 'series-1' }]}
        bars={bars(({ bytes }) => (bytes === null ? [] : [bytes]))}
        format={formatBytes}
        isBytes
      />
    </section>
  );
}

interface ListProps {
  title: string;
  /** Link to the complete list. */
  all: string;
  empty: string;
  tenants: Tenant[];
  total: number;
  renderValue: (tenant: Tenant) => ComponentChildren;
}

function TenantList({ title, all, empty, tenants, total, renderValue }: ListProps) {
  return (
    <section class="card">
      <h2>{title}</h2>
      <Rows empty={empty}>
        {tenants.map((tenant) => (
          <Row key={tenant.id} id={tenant.id}>
            {renderValue(tenant)}
          </Row>
        ))}
      </Rows>
      {total > tenants.length && (
        <p class="small">
          <a href={all}>All {formatNumber(total)}</a>
        </p>
      )}
    </section>
  );
}

function Rows({ empty, children }: { empty: string; children: ComponentChildren[] }) {
  return children.length === 0 ? (
    <p class="muted small">{empty}</p>
  ) : (
    <ul class="overview-rows">{children}</ul>
  );
}

function Row({ id, children }: { id: string; children: ComponentChildren }) {
  return (
    <li>
      <a class="name-link" href={toHref(['tenants', id])}>
        <Name text={id} />
      </a>
      <span class="muted small">{children}</span>
    </li>
  );
}
