import { useEffect, useRef } from 'preact/hooks';
import uPlot from 'uplot';
import 'uplot/dist/uPlot.min.css';
import './bar-plot.css';

export interface Bar {
  /** Complete label, for the table and below the chart. */
  label: string;
  /** Short label, for the axis. */
  tick: string;
  /** One value per series; empty without a record. */
  values: number[];
}

export interface Chart {
  title: string;
  period: 'day' | 'hour';
  /** The series, from the bottom to the top of each bar, with the tokens for their colors. */
  series: readonly { name: string; color: string }[];
  bars: Bar[];
  format: (value: number) => string;
  isBytes?: boolean;
}

import { theme } from './preferences.ts';

const HEIGHT = 160;
/** Distances between axis labels. */
const COUNTS = Array.from({ length: 15 }, (_, power) =>
  [1, 2, 5].map((factor) => factor * 10 ** power),
).flat();
const BYTES = Array.from({ length: 50 }, (_, power) => 2 ** power);
const BARS = { day: [1, 2, 7, 14, 28], hour: [24, 48, 72] };

/**
 * Shows the bars with axes, below the values for the bar at the pointer. Without a pointer, shows the values for the
 * last bar.
 */
export function BarPlot({ label, ...chart }: Chart & { label: string }) {
  const container = useRef<HTMLDivElement>(null);
  // A canvas does not follow the color scheme.
  theme.value;
  useEffect(() => {
    const element = container.current;
    if (element === null) return;
    const plot = new uPlot(plotOptions(chart, element), plotData(chart), element);
    const resize = new ResizeObserver(() => plot.setSize({ width: element.clientWidth, height: HEIGHT }));
    resize.observe(element);
    const scheme = matchMedia('(prefers-color-scheme: dark)');
    const redraw = () => plot.redraw();
    scheme.addEventListener('change', redraw);
    return () => {
      scheme.removeEventListener('change', redraw);
      resize.disconnect();
      plot.destroy();
    };
  });
  return <div ref={container} role="img" aria-label={label} />;
}

/** Returns the bars' indexes, and for each series its sum with all series below it, per bar. */
function plotData({ series, bars }: Chart): uPlot.AlignedData {
  const sumUpTo = (values: number[], i: number) => values.slice(0, i + 1).reduce((sum, value) => sum + value);
  const sums = series.map((_, i) =>
    bars.map(({ values }) => (values.length > 0 ? sumUpTo(values, i) : null)),
  );
  return [[...bars.keys()], ...sums];
}

function plotOptions({ period, series, bars, format, isBytes }: Chart, element: Element): uPlot.Options {
  const last = bars.length - 1;
  const font = `12px ${getComputedStyle(element).fontFamily}`;
  const axis = { stroke: tokenColor('muted'), font, ticks: { show: false } };
  const paths = uPlot.paths.bars && { paths: uPlot.paths.bars({ size: [0.8] }) };
  const valueText = (value: number | undefined) => (value === undefined ? '–' : format(value));
  return {
    width: element.clientWidth,
    height: HEIGHT,
    padding: [10, 16, 0, 0],
    scales: {
      x: { time: false, range: [-0.5, last + 0.5] },
      y: { range: (_, _min, max) => [0, max || 1] },
    },
    axes: [
      {
        ...axis,
        size: 26,
        incrs: BARS[period],
        values: (_, indexes) => indexes.map((index) => bars[index]?.tick ?? ''),
        grid: { show: false },
      },
      {
        ...axis,
        size: (_, labels: string[] | null) =>
          14 + 7 * Math.max(0, ...(labels ?? []).map((text) => text.length)),
        incrs: isBytes ? BYTES : COUNTS,
        values: (_, values) => values.map(format),
        grid: { stroke: tokenColor('border'), width: 1 },
      },
    ],
    series: [
      { value: (_, index: number | null) => bars[index ?? last]?.label ?? '' },
      ...series.map(({ name, color }, i) => ({
        label: name,
        width: 0,
        fill: tokenColor(color),
        ...paths,
        points: { show: false },
        value: (_: uPlot, _sum: number, _i: number, index: number | null) =>
          valueText(bars[index ?? last]?.values[i]),
      })),
    ],
    // Draws each series only above the one below it.
    bands: series.slice(1).map((_, i) => ({ series: [i + 2, i + 1] })),
    cursor: { y: false, points: { show: false }, drag: { x: false, setScale: false } },
    legend: { markers: { width: 0, fill: (_, i) => `var(--${series[i - 1]?.color})` } },
  };
}

/** Returns a function that reads a token's color, because a canvas cannot read tokens. */
const tokenColor = (token: string) => (plot: uPlot) => {
  plot.under.style.color = `var(--${token})`;
  return getComputedStyle(plot.under).color;
};
