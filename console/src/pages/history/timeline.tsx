import { useState } from 'preact/hooks';
import { changesMade } from '../../api/changes.ts';
import { readActivity } from '../../api/history.ts';
import type { Activity, Tenant } from '../../api/types.ts';
import { formatExactTime, formatTime } from '../../text/format.ts';
import { isBefore } from '../../text/moment.ts';
import { Icon, type IconName } from '../../ui/icon.tsx';
import { LoadError } from '../../ui/messages.tsx';
import { MomentField } from '../../ui/moment-field.tsx';
import { Options } from '../../ui/options.tsx';
import { useLoad } from '../../ui/use-load.ts';
import { Histogram } from './histogram.tsx';
import { Legend } from './legend.tsx';
import { NewChanges } from './new-changes.tsx';
import { ALL, moved, periodOf, periodsSince, type Range, zoomed } from './range.ts';
import { Slider } from './slider.tsx';
import { type MoveTo, type Step, useSteps } from './use-steps.ts';

const BUCKETS = 120;
/** Ranges longer than this are edited in minutes instead of seconds. */
const COARSE_MS = 10 * 60 * 1000;

interface Props {
  tenant: Tenant;
  /** The selected time, or null for now. */
  at: string | null;
  onChange: MoveTo;
}

/** Histogram of a tenant's changes, colored by actor, with a slider that selects a time. */
export function Timeline({ tenant, at, onChange }: Props) {
  const [range, setRange] = useState(ALL);
  const { data, error, reload } = useLoad(
    (signal) => readActivity(tenant.id, { ...range, buckets: BUCKETS }, signal),
    [tenant.id, range.since, range.until, changesMade.value],
  );
  const step = useSteps(tenant.id, at, async (moment) => {
    if (!(await onChange(moment))) return false;
    const next = data && moved(data, tenant.history_since, moment ?? new Date().toISOString());
    if (next) setRange(next);
    return true;
  });
  const zoom = (factor: number) => data && setRange(zoomed(data, tenant.history_since, at, factor));
  const all = () => setRange(ALL);
  if (error !== undefined) {
    return <LoadError error={error} onRetry={range === ALL ? reload : all} />;
  }
  const endsNow = range.until === null;
  return (
    <section class="timeline" aria-label="Timeline">
      <div class="timeline-chart">
        {data && <Histogram activity={data} at={at} />}
        {data && (
          <Slider
            activity={data}
            earliest={tenant.history_since}
            endsNow={endsNow}
            at={at}
            onChange={onChange}
            onStep={step}
            onZoom={zoom}
          />
        )}
      </div>
      {data && <Axis {...data} endsNow={endsNow} />}
      <div class="timeline-foot">
        <Steps tenant={tenant} at={at} onChange={onChange} step={step} />
        <span class="spacer" />
        <NewChanges tenant={tenant} />
        {periodOf(range) === 'range' && data && (
          <ExactRange activity={data} range={range} setRange={setRange} />
        )}
        <Zoom tenant={tenant} range={range} setRange={setRange} zoom={zoom} />
      </div>
      {data && <Legend tenant={tenant.id} activity={data} />}
    </section>
  );
}

function Axis({ since, until, endsNow }: Pick<Activity, 'since' | 'until'> & { endsNow: boolean }) {
  return (
    <p class="timeline-axis muted">
      <time dateTime={since}>{formatTime(since)}</time>
      {endsNow ? <span>now</span> : <time dateTime={until}>{formatTime(until)}</time>}
    </p>
  );
}

function Steps({ tenant, at, step }: Props & { step: Step }) {
  const isFirst = at === null ? tenant.last_change_at === null : !isBefore(tenant.history_since, at);
  return (
    <fieldset class="timeline-steps">
      <legend class="visually-hidden">Step through the changes</legend>
      <IconButton icon="back" title="Previous change" disabled={isFirst} onClick={() => step(-1)} />
      <IconButton icon="chevron" title="Next change" disabled={at === null} onClick={() => step(1)} />
      <output class="small" title={at ?? undefined}>
        {at === null ? 'Now' : formatExactTime(at)}
      </output>
    </fieldset>
  );
}

interface IconButtonProps {
  icon: IconName;
  title: string;
  disabled?: boolean;
  onClick: () => void;
}

function IconButton({ icon, title, disabled = false, onClick }: IconButtonProps) {
  return (
    <button type="button" class="icon-button" title={title} disabled={disabled} onClick={onClick}>
      <Icon name={icon} />
      <span class="visually-hidden">{title}</span>
    </button>
  );
}

interface ZoomProps {
  tenant: Tenant;
  range: Range;
  setRange: (range: Range) => void;
  zoom: (factor: number) => void;
}

function Zoom({ tenant, range, setRange, zoom }: ZoomProps) {
  const choose = (period: string) => {
    if (period === 'range') zoom(1 / 4);
    else setRange(period === 'all' ? ALL : { since: period, until: null });
  };
  return (
    <fieldset class="timeline-zoom">
      <legend class="visually-hidden">Zoom</legend>
      <IconButton icon="plus" title="Zoom in" onClick={() => zoom(1 / 4)} />
      <IconButton
        icon="minus"
        title="Zoom out"
        disabled={range.since === null && range.until === null}
        onClick={() => zoom(4)}
      />
      <label>
        <span class="visually-hidden">Period</span>
        <select value={periodOf(range)} onChange={(event) => choose(event.currentTarget.value)}>
          <Options texts={periodsSince(tenant.history_since)} />
        </select>
      </label>
    </fieldset>
  );
}

interface ExactRangeProps {
  activity: Activity;
  range: Range;
  setRange: (range: Range) => void;
}

function ExactRange({ activity, range, setRange }: ExactRangeProps) {
  const [start, end] = [range.since ?? activity.since, range.until ?? activity.until];
  const isCoarse = Date.parse(end) - Date.parse(start) > COARSE_MS;
  return (
    <div class="timeline-range">
      <MomentField
        isCoarse={isCoarse}
        label="From"
        value={start}
        onChange={(since) => {
          if (since === null || isBefore(since, end)) setRange({ ...range, since });
        }}
      />
      <MomentField
        isCoarse={isCoarse}
        label="to"
        value={end}
        onChange={(until) => {
          if (until === null || isBefore(start, until)) setRange({ ...range, until });
        }}
      />
    </div>
  );
}
