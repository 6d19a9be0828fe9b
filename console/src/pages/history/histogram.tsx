import { useMemo } from 'preact/hooks';
import type { Activity } from '../../api/api-types.ts';
import { count } from '../../text/format.ts';
import { OTHER } from './kept-colors.ts';

const HEIGHT = 100;
const GAP = 0.15;

interface Props {
  activity: Activity;
  /** The actors' colors. */
  colors: readonly string[];
  at: string | null;
}

/** Bar chart with one bar per bucket, stacked by actor. Bars after `at` are faded. */
export function Histogram({ activity, colors, at }: Props) {
  const { buckets, actors } = activity;
  const bars = useMemo(() => histogramBars(activity, colors), [activity, colors]);
  const last = at === null ? Number.POSITIVE_INFINITY : Date.parse(at);
  return (
    <svg
      class="histogram"
      viewBox={`0 0 ${buckets.length} ${HEIGHT}`}
      preserveAspectRatio="none"
      role="img"
      aria-label={`Changes over time, by ${count(actors.length, 'actor')}`}
    >
      {bars.map(({ x, parts, start }) => (
        <g key={x} class={start > last ? 'later' : undefined}>
          {parts.map(({ y, height, series }) => (
            <rect key={y} fill={series} x={x + GAP / 2} y={y} width={1 - GAP} height={height} />
          ))}
        </g>
      ))}
    </svg>
  );
}

interface Bar {
  x: number;
  start: number;
  parts: { y: number; height: number; series: string }[];
}

/** Heights are square roots, so that one change remains visible beside a thousand. */
function histogramBars({ buckets }: Activity, colors: readonly string[]): Bar[] {
  const totals = buckets.map(({ counts, others }) => counts.reduce((sum, n) => sum + n, others));
  const highest = Math.sqrt(Math.max(1, ...totals));
  return buckets.flatMap(({ start, counts, others }, x) => {
    const total = totals[x] ?? 0;
    if (total === 0) return [];
    const scale = (Math.sqrt(total) / highest) * (HEIGHT / total);
    let y = HEIGHT;
    const parts = [...counts, others].flatMap((n, i) => {
      if (n === 0) return [];
      y -= n * scale;
      return [{ y, height: n * scale, series: colors[i] ?? OTHER }];
    });
    return [{ x, start: Date.parse(start), parts }];
  });
}
