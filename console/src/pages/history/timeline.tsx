import { useState } from 'preact/hooks';
import { actorText } from '../../../../src/memory/origin.ts';
import { changesMade } from '../../api/changes.ts';
import { readActivity } from '../../api/history.ts';
import type { Activity, Tenant } from '../../api/types.ts';
import { hrefOf } from '../../router.ts';
import { actorFilter } from '../../text/actor.ts';
import { formatNumber, formatTime } from '../../text/format.ts';
import { LoadError } from '../../ui/messages.tsx';
import { Options } from '../../ui/options.tsx';
import { useLoad } from '../../ui/use-load.ts';
import { Histogram } from './histogram.tsx';

const BUCKETS = 120;
const STEPS = 1000;
const PERIODS = { '1h': 'Last hour', '1d': 'Last day', '7d': 'Last week', '30d': 'Last 30 days', all: 'All' };

interface Props {
  tenant: Tenant;
  /** Null is now. */
  at: string | null;
  onChange: (at: string | null) => void;
}

/** The changes of a tenant over time, colored by actor, with a slider over them that chooses a moment. */
export function Timeline({ tenant, at, onChange }: Props) {
  const [period, setPeriod] = useState('all');
  const since = period === 'all' ? tenant.created_at : period;
  const { data, error, reload } = useLoad(
    (signal) => readActivity(tenant.id, { since, buckets: BUCKETS }, signal),
    [tenant.id, since, changesMade.value],
  );
  if (error !== undefined) return <LoadError error={error} onRetry={reload} />;
  return (
    <section class="timeline" aria-label="Timeline">
      <div class="timeline-chart">
        {data && <Histogram activity={data} at={at} />}
        {data && <Slider activity={data} {...{ at, onChange }} />}
      </div>
      <div class="timeline-foot">
        {data && <Legend tenant={tenant.id} activity={data} />}
        <span class="spacer" />
        <output class="muted small">{at === null ? 'Now' : formatTime(at)}</output>
        <label class="inline small">
          <span class="visually-hidden">Period</span>
          <select value={period} onChange={(event) => setPeriod(event.currentTarget.value)}>
            <Options texts={PERIODS} />
          </select>
        </label>
      </div>
    </section>
  );
}

function Slider({ activity, at, onChange }: { activity: Activity } & Omit<Props, 'tenant'>) {
  const [start, end] = [Date.parse(activity.since), Date.parse(activity.until)];
  const value = at === null ? STEPS : Math.round(((Date.parse(at) - start) / (end - start)) * STEPS);
  const timeOf = (step: number) =>
    step >= STEPS ? null : new Date(start + ((end - start) * step) / STEPS).toISOString();
  return (
    <input
      type="range"
      class="timeline-slider"
      aria-label="Moment"
      aria-valuetext={at === null ? 'now' : formatTime(at)}
      min={0}
      max={STEPS}
      value={Math.max(0, Math.min(STEPS, value))}
      onInput={(event) => onChange(timeOf(event.currentTarget.valueAsNumber))}
    />
  );
}

function Legend({ tenant, activity }: { tenant: string; activity: Activity }) {
  const { actors, buckets } = activity;
  const others = buckets.reduce((sum, bucket) => sum + bucket.others, 0);
  if (actors.length === 0) return <span class="muted small">No changes in this period</span>;
  return (
    <ul class="legend small">
      {actors.map((actor, i) => (
        <li key={actorText(actor)}>
          <span class={`swatch ${seriesOf(i)}`} />
          <a href={hrefOf(['tenants', tenant, 'history'], { by: actorFilter(actor) })}>
            <bdi>{actorText(actor)}</bdi>
          </a>{' '}
          <span class="muted">
            {formatNumber(buckets.reduce((sum, { counts }) => sum + (counts[i] ?? 0), 0))}
          </span>
        </li>
      ))}
      {others > 0 && (
        <li>
          <span class="swatch series-other" /> others <span class="muted">{formatNumber(others)}</span>
        </li>
      )}
    </ul>
  );
}

const SERIES = 8;
/** The color of an actor, by its place in the list. */
export const seriesOf = (index: number) => (index < SERIES ? `series-${index}` : 'series-other');
