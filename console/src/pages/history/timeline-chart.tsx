import { useMemo, useState } from 'preact/hooks';
import { actorText } from '../../../../src/core/memory/origin.ts';
import type { Activity } from '../../api/api-types.ts';
import { count, formatNumber, formatTime } from '../../text/format.ts';
import { revealHidden } from '../../text/visible.tsx';
import { Histogram } from './histogram.tsx';
import { Slider, type SliderProps } from './slider.tsx';
import { findTicks, type Tick } from './ticks.ts';

const MOST_TICKS = 24;
const MOST_LABELS = 8;
/** Actors in a tooltip; others are counted together. */
const NAMED = 5;

interface Colors {
  /** The actors' colors. */
  colors: readonly string[];
}

/** The histogram with its slider, the time axis, and a tooltip for the bar below the pointer. */
export function TimelineChart({ activity, colors, endsNow, at, ...slider }: SliderProps & Colors) {
  const { since, until, buckets } = activity;
  const ticks = useMemo(() => findTicks(since, until, MOST_TICKS), [since, until]);
  const [hovered, setHovered] = useState<number | null>(null);
  const bucketAt = ({ currentTarget, clientX }: PointerEvent) => {
    if (!(currentTarget instanceof Element)) return null;
    const { left, width } = currentTarget.getBoundingClientRect();
    // The chart has a padding of 7 pixels, so that the slider can reach both ends.
    const index = Math.floor(((clientX - left - 7) / (width - 14)) * buckets.length);
    return index >= 0 && index < buckets.length ? index : null;
  };
  return (
    <>
      <div
        class="timeline-chart"
        onPointerMove={(event) => setHovered(bucketAt(event))}
        onPointerLeave={() => setHovered(null)}
      >
        <Ticks ticks={ticks} />
        <Histogram activity={activity} colors={colors} at={at} />
        <Slider activity={activity} endsNow={endsNow} at={at} {...slider} />
        {hovered !== null && <Tooltip activity={activity} colors={colors} index={hovered} />}
      </div>
      <Axis since={since} until={until} endsNow={endsNow} ticks={ticks} />
    </>
  );
}

const percent = (part: number) => `${(part * 100).toFixed(2)}%`;

function Ticks({ ticks }: { ticks: readonly Tick[] }) {
  return (
    <div class="timeline-ticks" aria-hidden="true">
      {ticks.map(({ at }) => (
        <span key={at} style={{ left: percent(at) }} />
      ))}
    </div>
  );
}

/** Whether a label at this position would cover the labels at the ends. */
const isNearEnd = ({ at }: Tick) => at < 0.2 || at > 0.88;

interface AxisProps extends Pick<Activity, 'since' | 'until'> {
  endsNow: boolean;
  ticks: readonly Tick[];
}

function Axis({ since, until, endsNow, ticks }: AxisProps) {
  return (
    <p class="spread timeline-axis muted">
      <time dateTime={since}>{formatTime(since)}</time>
      <span class="tick-labels" aria-hidden="true">
        {ticks
          .filter((tick, i) => i % Math.ceil(ticks.length / MOST_LABELS) === 0 && !isNearEnd(tick))
          .map(({ at, label }) => (
            <span key={at} style={{ left: percent(at) }}>
              {label}
            </span>
          ))}
      </span>
      {endsNow ? <span>now</span> : <time dateTime={until}>{formatTime(until)}</time>}
    </p>
  );
}

/** Shows a bar's times, and the changes in the bar by actor. */
function Tooltip({ activity, colors, index }: { activity: Activity; index: number } & Colors) {
  const { actors, buckets, bucket_seconds } = activity;
  const bucket = buckets[index];
  if (bucket === undefined) return null;
  const { start, counts, others } = bucket;
  const end = new Date(Date.parse(start) + bucket_seconds * 1000).toISOString();
  const changes = counts.flatMap((number, i) => (number === 0 ? [] : [{ number, i, actor: actors[i] }]));
  const shown = changes.toSorted((one, other) => other.number - one.number).slice(0, NAMED);
  const total = counts.reduce((sum, number) => sum + number, others);
  const rest = total - shown.reduce((sum, { number }) => sum + number, 0);
  const isRight = index > buckets.length / 2;
  const edge = percent((isRight ? buckets.length - index : index + 1) / buckets.length);
  return (
    <div class="timeline-tooltip" style={isRight ? { right: edge } : { left: edge }}>
      <strong>{total === 0 ? 'No changes' : count(total, 'change')}</strong>
      <span class="muted">{formatTime(start)}</span>
      <span class="muted">to {formatTime(end)}</span>
      {shown.map(({ number, i, actor }) => (
        <span key={i}>
          <span class="swatch" style={{ background: colors[i] }} />{' '}
          {actor === undefined ? '' : revealHidden(actorText(actor))} {formatNumber(number)}
        </span>
      ))}
      {rest > 0 && <span class="muted">others {formatNumber(rest)}</span>}
    </div>
  );
}
