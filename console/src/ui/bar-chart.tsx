import { useState } from 'preact/hooks';
import { formatBytes, formatNumber } from '../text/format.ts';
import type { Bar, Chart } from './bar-plot.tsx';
import { lazy } from './lazy.tsx';

const BarPlot = lazy('the chart', async () => (await import('./bar-plot.tsx')).BarPlot);

/** Stacked bar chart, and its values as a table. */
export function BarChart(chart: Chart) {
  const { title, period, bars, format } = chart;
  const totals = bars.map(({ values }) => values.reduce((total, value) => total + value, 0));
  const isRecorded = bars.some(({ values }) => values.length > 0);
  const most = isRecorded ? `at most ${format(Math.max(...totals))}` : 'no records yet';
  return (
    <figure class="bar-chart">
      <figcaption class="spread">
        <span class="chart-title">{title}</span>
        <span class="muted small">{most}</span>
      </figcaption>
      {isRecorded && (
        <>
          <div class="chart-plot">
            <BarPlot
              label={`${title} by ${period}: last ${format(totals.at(-1) ?? 0)}, ${most}`}
              {...chart}
            />
          </div>
          <ValueTable {...chart} />
        </>
      )}
    </figure>
  );
}

const CALLS = [
  { name: 'reads', color: 'series-0' },
  { name: 'writes', color: 'series-2' },
  { name: 'rejected', color: 'series-7' },
];
const SIZE = [{ name: 'in all files', color: 'series-1' }];

/** Charts of the calls and of the size by day. */
export function UsageCharts({ calls, sizes }: { calls: Bar[]; sizes: Bar[] }) {
  return (
    <>
      <BarChart title="Calls" period="day" series={CALLS} bars={calls} format={formatNumber} />
      <BarChart
        title="Size of all files"
        period="day"
        series={SIZE}
        bars={sizes}
        format={formatBytes}
        isBytes
      />
    </>
  );
}

/** The values as a table, the latest first. */
function ValueTable({ title, period, series, bars, format }: Chart) {
  const [isOpen, setIsOpen] = useState(false);
  const recorded = bars.filter(({ values }) => values.length > 0).reverse();
  return (
    <details class="chart-table" onToggle={(event) => setIsOpen(event.currentTarget.open)}>
      <summary>
        As a table<span class="visually-hidden">: {title}</span>
      </summary>
      {isOpen && (
        // biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls, and without the focus the keyboard cannot scroll it.
        <div class="surface chart-values" tabIndex={0}>
          <table>
            <thead>
              <tr>
                <th scope="col">{period === 'day' ? 'Day (UTC)' : 'Hour'}</th>
                {series.map(({ name }) => (
                  <th key={name} scope="col">
                    {name}
                  </th>
                ))}
              </tr>
            </thead>
            <tbody>
              {recorded.map(({ label, values }) => (
                <tr key={label}>
                  <th scope="row">{label}</th>
                  {values.map((value, i) => (
                    <td key={series[i]?.name}>{format(value)}</td>
                  ))}
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
    </details>
  );
}

const DAY_MS = 24 * 60 * 60 * 1000;

/** Returns the dates for the last `count` UTC days, including today. */
export function lastDays(count: number, now: number = Date.now()): string[] {
  return Array.from({ length: count }, (_, i) =>
    new Date(now - (count - 1 - i) * DAY_MS).toISOString().slice(0, 10),
  );
}

const ticks = new Intl.DateTimeFormat('en-GB', { day: 'numeric', month: 'short', timeZone: 'UTC' });

/** Returns the bar for a UTC date. */
export const dayBar = (day: string, values: number[]): Bar => ({
  label: day,
  tick: ticks.format(new Date(`${day}T00:00:00Z`)),
  values,
});
