import { useState } from 'preact/hooks';
import { errorMessage } from '../../api/api-client.ts';
import type { Activity, Tenant, UsageDay } from '../../api/api-types.ts';
import { readActivity } from '../../api/history-api.ts';
import { getUsage, listUsageDays } from '../../api/tenants-api.ts';
import { toHref } from '../../router.ts';
import { count, formatBytes, formatNumber, formatTime } from '../../text/format.ts';
import { zonedFormat } from '../../text/zone.ts';
import { BarChart, dayBar, lastDays, UsageCharts } from '../../ui/bar-chart.tsx';
import type { Bar } from '../../ui/bar-plot.tsx';
import { Time } from '../../ui/inline.tsx';
import { Load } from '../../ui/load.tsx';
import { Segmented } from '../../ui/segmented.tsx';
import { UsageBar } from '../../ui/usage-bar.tsx';
import { useLoad } from '../../ui/use-load.ts';
import { findBurst } from './burst.ts';

/** A tenant's current usage, and its usage over time. */
export function Usage({ tenant }: { tenant: Tenant }) {
  const { files, bytes, history_bytes, history_versions, effective, created_at } = tenant;
  const { data, error } = useLoad((signal) => getUsage(tenant.id, signal), [tenant.id], 'usage');
  return (
    <>
      <h2>Usage</h2>
      <dl class="facts">
        <dt>Files</dt>
        <dd>
          <UsageBar label="Files" used={files} limit={effective.max_files} format={formatNumber} />
        </dd>
        <dt>Size</dt>
        <dd>
          <UsageBar label="Size" used={bytes} limit={effective.max_bytes} format={formatBytes} />
        </dd>
        <dt>History</dt>
        <dd>
          <UsageBar
            label="History"
            used={history_bytes}
            limit={effective.max_history_bytes}
            format={formatBytes}
          />
          <span class="muted small">{count(history_versions, 'version')}</span>
        </dd>
        <dt>Created</dt>
        <dd>
          <Time value={created_at} />
        </dd>
        <dt>Last activity</dt>
        <dd>
          {error === undefined ? data && <LastActivity at={data.last_activity_at} /> : errorMessage(error)}
        </dd>
      </dl>
      <UsageOverTime tenant={tenant.id} />
    </>
  );
}

function LastActivity({ at }: { at: string | null }) {
  return at === null ? 'never' : <Time value={at} isAge />;
}

const SPANS = [
  ['7', 'Hours of 7 days'],
  ['30', '30 days'],
  ['90', '90 days'],
] as const;
type Span = (typeof SPANS)[number][0];

function UsageOverTime({ tenant }: { tenant: string }) {
  const [span, setSpan] = useState<Span>('30');
  return (
    <div class="stack usage-over-time">
      <Segmented label="Period" options={SPANS} value={span} onChange={setSpan} />
      {span === '7' ? <HourCharts tenant={tenant} /> : <DayCharts tenant={tenant} days={Number(span)} />}
    </div>
  );
}

function DayCharts({ tenant, days }: { tenant: string; days: number }) {
  const usage = useLoad(
    (signal) => listUsageDays(tenant, `${days - 1}d`, signal),
    [tenant, days],
    'activity',
  );
  const all = lastDays(days);
  return (
    <Load of={usage} what="the usage by day">
      {(data) => (
        <div class="charts">
          <UsageCharts calls={callBars(all, data.days)} sizes={sizeBars(all, data.days)} />
        </div>
      )}
    </Load>
  );
}

/** Days without a record had no calls. */
function callBars(days: readonly string[], recorded: readonly UsageDay[]): Bar[] {
  const byDay = new Map(recorded.map((each) => [each.day, each]));
  return days.map((day) => {
    const { reads = 0, writes = 0, rejected = 0 } = byDay.get(day) ?? {};
    return dayBar(day, recorded.length === 0 ? [] : [reads, writes, rejected]);
  });
}

/** Days without a record have the previous day's size. The size before the first record is unknown. */
function sizeBars(days: readonly string[], recorded: readonly UsageDay[]): Bar[] {
  const byDay = new Map(recorded.map(({ day, bytes }) => [day, bytes]));
  let bytes: number | undefined;
  return days.map((day) => {
    bytes = byDay.get(day) ?? bytes;
    return dayBar(day, bytes === undefined ? [] : [bytes]);
  });
}

const HOURS = 7 * 24;
const HOUR_MS = 3_600_000;

/** Changes in each hour during the last week. The service records reads by day only. */
function HourCharts({ tenant }: { tenant: string }) {
  const activity = useLoad(
    (signal) => {
      const until = Math.ceil(Date.now() / HOUR_MS) * HOUR_MS;
      const toIsoTime = (time: number) => new Date(time).toISOString();
      return readActivity(
        tenant,
        { since: toIsoTime(until - HOURS * HOUR_MS), until: toIsoTime(until), buckets: HOURS },
        signal,
      );
    },
    [tenant],
    'busy-hours',
  );
  return (
    <Load of={activity} what="the changes by hour">
      {({ buckets }) => <HourChart tenant={tenant} buckets={buckets} />}
    </Load>
  );
}

interface BucketsProps {
  tenant: string;
  buckets: Activity['buckets'];
}

function HourChart({ tenant, buckets }: BucketsProps) {
  const bars = buckets.map(
    ({ start, counts, others }): Bar => ({
      label: formatTime(start),
      tick: weekdays.value.format(new Date(start)),
      values: [counts.reduce((total, changes) => total + changes, others)],
    }),
  );
  return (
    <>
      <BarChart
        title="Changes"
        period="hour"
        series={[{ name: 'changes', color: 'series-2' }]}
        bars={bars}
        format={formatNumber}
      />
      <Burst tenant={tenant} buckets={buckets} bars={bars} />
      <p class="muted small">
        From the history, so redacted and pruned versions are missing. Reads are only counted by day.
      </p>
    </>
  );
}

const weekdays = zonedFormat({ weekday: 'short', day: 'numeric' });

/** Link to the changes in an hour with far more changes than usual. */
function Burst({ tenant, buckets, bars }: BucketsProps & { bars: Bar[] }) {
  const burst = findBurst(bars.map(({ values }) => values[0] ?? 0));
  const start = burst === null ? undefined : buckets[burst.index]?.start;
  if (burst === null || start === undefined) return null;
  const until = new Date(Date.parse(start) + HOUR_MS).toISOString();
  return (
    <p class="notice warning">
      Burst: {count(bars[burst.index]?.values[0] ?? 0, 'change')} in the hour from <Time value={start} />,
      against {formatNumber(burst.usual)} in a usual busy hour.{' '}
      <a href={toHref(['tenants', tenant, 'history'], { since: start, until })}>Show the changes</a>
    </p>
  );
}
