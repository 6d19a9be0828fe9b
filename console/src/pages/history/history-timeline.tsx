import { effect, signal } from '@preact/signals';
import type { ComponentChildren } from 'preact';
import { useMemo, useState } from 'preact/hooks';
import type { Activity, Tenant } from '../../api/api-types.ts';
import { readActivity } from '../../api/history-api.ts';
import { replaceQuery, route } from '../../router.ts';
import { formatChosenTime, formatExactTime } from '../../text/format.ts';
import { isBefore } from '../../text/time.ts';
import { Button } from '../../ui/button.tsx';
import { IconButton } from '../../ui/icon-button.tsx';
import { Options } from '../../ui/options.tsx';
import { LoadError } from '../../ui/status-messages.tsx';
import { TimeField } from '../../ui/time-field.tsx';
import { useLoad } from '../../ui/use-load.ts';
import { GoToDialog } from './go-to-dialog.tsx';
import { actorColors } from './kept-colors.ts';
import { Legend } from './legend.tsx';
import { ALL, availablePeriods, isAll, moveRange, periodKey, type Range, zoomRange } from './range.ts';
import { TimelineChart } from './timeline-chart.tsx';
import { type MoveTo, type Step, useSteps } from './use-steps.ts';

const BUCKETS = 120;
/** Ranges longer than this are edited in minutes instead of seconds. */
const COARSE_MS = 10 * 60 * 1000;

interface Props {
  tenant: Tenant;
  /** The selected time, or null for now. */
  at: string | null;
  onChange: MoveTo;
  /** Text before a past time, and actions for it. */
  past?: { text: string; actions: ComponentChildren };
}

const HIDDEN = 'timeline-hidden';
/** Whether the chart is hidden, on all pages. Local storage keeps the choice. */
const isHidden = signal(localStorage.getItem(HIDDEN) !== null);
effect(() => (isHidden.value ? localStorage.setItem(HIDDEN, 'true') : localStorage.removeItem(HIDDEN)));

/** Selects the period in the URL, so that a link shows the same part of the history. */
const setRange = ({ since, until }: Range) => void replaceQuery({ since, until });

/** Histogram with a tenant's changes, colored by actor, and a slider that selects a time. */
export function Timeline({ tenant, at, onChange, past }: Props) {
  const [isGoing, setIsGoing] = useState(false);
  const { query } = route.value;
  const range = { since: query.get('since'), until: query.get('until') };
  const isShown = !isHidden.value;
  const { data, error, reload } = useLoad(
    async (signal) => (isShown ? readActivity(tenant.id, { ...range, buckets: BUCKETS }, signal) : null),
    [tenant.id, range.since, range.until, isShown],
    'timeline',
  );
  const colors = useMemo(() => actorColors(tenant.id, data?.actors ?? []), [tenant.id, data]);
  const moveTo: MoveTo = async (time) => {
    if (!(await onChange(time))) return false;
    const next = data && moveRange(data, tenant.history_since, time ?? new Date().toISOString());
    if (next) setRange(next);
    return true;
  };
  const step = useSteps(tenant.id, at, moveTo);
  const zoom = (factor: number) => data && setRange(zoomRange(data, tenant.history_since, at, factor));
  const endsNow = range.until === null;
  return (
    <section
      class={at !== null && past ? 'surface timeline is-past' : 'surface timeline'}
      aria-label="Timeline"
    >
      <div class="buttons timeline-head">
        <Steps tenant={tenant} at={at} step={step} text={past?.text ?? ''} />
        <Button text="Go to time…" onClick={() => setIsGoing(true)} />
        <div class="buttons timeline-actions">
          {at !== null && past?.actions}
          <IconButton
            icon={isShown ? 'up' : 'down'}
            label={isShown ? 'Hide the timeline' : 'Show the timeline'}
            aria-expanded={isShown}
            onClick={() => {
              isHidden.value = isShown;
            }}
          />
        </div>
      </div>
      {isShown && error !== undefined && (
        <LoadError error={error} onRetry={isAll(range) ? reload : () => setRange(ALL)} />
      )}
      {isShown && error === undefined && data === undefined && <div class="timeline-chart" />}
      {isShown && data && (
        <>
          <TimelineChart
            activity={data}
            colors={colors}
            earliest={tenant.history_since}
            endsNow={endsNow}
            at={at}
            onChange={onChange}
            onStep={step}
            onZoom={zoom}
          />
          <div class="buttons timeline-foot">
            <Legend tenant={tenant.id} activity={data} colors={colors} />
            {periodKey(range) === 'range' && <ExactRange activity={data} range={range} setRange={setRange} />}
            <Zoom tenant={tenant} range={range} setRange={setRange} zoom={zoom} />
          </div>
        </>
      )}
      {isGoing && <GoToDialog tenant={tenant} onGo={moveTo} onClose={() => setIsGoing(false)} />}
    </section>
  );
}

interface StepsProps {
  tenant: Tenant;
  at: string | null;
  step: Step;
  /** Text before a past time. */
  text: string;
}

function Steps({ tenant, at, step, text }: StepsProps) {
  const isFirst = at === null ? tenant.last_change_at === null : !isBefore(tenant.history_since, at);
  return (
    <fieldset class="buttons timeline-steps">
      <legend class="visually-hidden">Step through the changes</legend>
      <IconButton icon="back" label="Previous change" disabled={isFirst} onClick={() => step(-1)} />
      <IconButton icon="chevron" label="Next change" disabled={at === null} onClick={() => step(1)} />
      <output class="small" title={at === null ? undefined : `${formatExactTime(at)} · ${at}`}>
        {at === null ? (
          'Now'
        ) : (
          <>
            {text && <span class="past-text">{text} </span>}
            <strong>{formatChosenTime(at)}</strong>
          </>
        )}
      </output>
    </fieldset>
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
    <fieldset class="buttons timeline-zoom">
      <legend class="visually-hidden">Zoom</legend>
      <IconButton icon="plus" label="Zoom in" onClick={() => zoom(1 / 4)} />
      <IconButton icon="minus" label="Zoom out" disabled={isAll(range)} onClick={() => zoom(4)} />
      <label>
        <span class="visually-hidden">Period</span>
        <select value={periodKey(range)} onChange={(event) => choose(event.currentTarget.value)}>
          <Options texts={availablePeriods(tenant.history_since)} />
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
    <div class="buttons timeline-range">
      <TimeField
        isCoarse={isCoarse}
        label="From"
        value={start}
        onChange={(since) => {
          if (since === null || isBefore(since, end)) setRange({ ...range, since });
        }}
      />
      <TimeField
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
