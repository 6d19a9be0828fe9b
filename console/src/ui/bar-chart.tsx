import { useState } from 'preact/hooks';
import { labeledBars, scaleEnd } from './chart-scale.ts';

export interface Bar {
  /** Complete label, for the tooltip and the table. */
  label: string;
  /** Short label, for the axis. */
  tick: string;
  /** One value per series; empty without a record. */
  values: number[];
}

interface Props {
  title: string;
  /** The period of a bar, such as "day". */
  period: string;
  /** The series, from the bottom to the top of each bar. */
  series: readonly { name: string; color: string }[];
  bars: Bar[];
  format: (value: number) => string;
  isBytes?: boolean;
  /** Maximum number of labels on the axis. */
  ticks?: number;
}

const HEIGHT = 100;
const GAP = 0.2;

const sum = (values: number[]) => values.reduce((total, value) => total + value, 0);

/** Stacked bar chart with axes, a tooltip, and its values as a table. */
export function BarChart(props: Props) {
  const { title, period, series, bars, format, isBytes = false, ticks = 5 } = props;
  const [pointed, setPointed] = useState<number | null>(null);
  const totals = bars.map(({ values }) => sum(values));
  const end = scaleEnd(Math.max(0, ...totals), isBytes);
  const isRecorded = bars.some(({ values }) => values.length > 0);
  const most = isRecorded ? `at most ${format(Math.max(0, ...totals))}` : 'no records yet';
  const last = isRecorded ? `last ${format(totals.at(-1) ?? 0)}, ` : '';
  const point = ({ clientX, currentTarget }: PointerEvent & { currentTarget: Element }) => {
    const { left, width } = currentTarget.getBoundingClientRect();
    const index = Math.floor(((clientX - left) / width) * bars.length);
    setPointed(Math.min(bars.length - 1, Math.max(0, index)));
  };
  const bar = pointed === null ? undefined : bars[pointed];
  return (
    <figure class="bar-chart">
      <figcaption>
        <span class="chart-title">{title}</span>
        <span class="muted small">{most}</span>
      </figcaption>
      <div class="chart-area">
        <div class="chart-scale muted" aria-hidden="true">
          {[end, end / 2, 0].map((value) => (
            <span key={value}>{format(value)}</span>
          ))}
        </div>
        <div
          class="chart-plot"
          onPointerMove={point}
          onPointerDown={point}
          onPointerLeave={() => setPointed(null)}
        >
          <svg
            viewBox={`0 0 ${bars.length} ${HEIGHT}`}
            preserveAspectRatio="none"
            role="img"
            aria-label={`${title} by ${period}: ${last}${most}`}
          >
            {[0, HEIGHT / 2].map((y) => (
              <line key={y} class="chart-line" x1={0} x2={bars.length} y1={y} y2={y} />
            ))}
            {bars.map(({ label, values }, x) => (
              <g key={label}>
                {x === pointed && <rect class="pointed" x={x} y={0} width={1} height={HEIGHT} />}
                {values.map((value, i) => {
                  const height = (value / end) * HEIGHT;
                  const below = (sum(values.slice(0, i)) / end) * HEIGHT;
                  const of = series[i];
                  return value === 0 || of === undefined ? null : (
                    <rect
                      key={of.name}
                      class={of.color}
                      x={x + GAP / 2}
                      y={HEIGHT - below - height}
                      width={1 - GAP}
                      height={height}
                    />
                  );
                })}
              </g>
            ))}
          </svg>
          {bar !== undefined && pointed !== null && (
            <div
              class={pointed < bars.length / 2 ? 'chart-tooltip small' : 'chart-tooltip is-left small'}
              style={{ insetInlineStart: `${((pointed + 0.5) / bars.length) * 100}%` }}
            >
              <strong>{bar.label}</strong>
              {bar.values.length === 0 && <span>no record</span>}
              {bar.values.map((value, i) => (
                <span key={series[i]?.name}>
                  <span class={`swatch ${series[i]?.color}`} aria-hidden="true" /> {format(value)}{' '}
                  {series[i]?.name}
                </span>
              ))}
            </div>
          )}
        </div>
        <div class="chart-ticks muted" aria-hidden="true">
          {labeledBars(bars.length, ticks).map((index) => (
            <span key={index} style={{ insetInlineStart: `${(index / bars.length) * 100}%` }}>
              {bars[index]?.tick}
            </span>
          ))}
        </div>
      </div>
      <div class="chart-foot small">
        {series.length > 1 && (
          <ul class="chart-legend">
            {series.map(({ name, color }) => (
              <li key={name}>
                <span class={`swatch ${color}`} aria-hidden="true" />
                {name}
              </li>
            ))}
          </ul>
        )}
        <ValueTable {...props} />
      </div>
    </figure>
  );
}

/** The values as a table, the latest first. */
function ValueTable({ title, period, series, bars, format }: Props) {
  const [isOpen, setIsOpen] = useState(false);
  const recorded = bars.filter(({ values }) => values.length > 0).reverse();
  if (recorded.length === 0) return null;
  return (
    <details class="chart-table" onToggle={(event) => setIsOpen(event.currentTarget.open)}>
      <summary>
        As a table<span class="visually-hidden">: {title}</span>
      </summary>
      {isOpen && (
        // biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls, and without the focus the keyboard cannot scroll it.
        <div class="chart-values" tabIndex={0}>
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

/** Returns the dates of the last `count` UTC days, today included. */
export function lastDays(count: number, now: number = Date.now()): string[] {
  return Array.from({ length: count }, (_, i) =>
    new Date(now - (count - 1 - i) * DAY_MS).toISOString().slice(0, 10),
  );
}

const ticks = new Intl.DateTimeFormat('en-GB', { day: 'numeric', month: 'short', timeZone: 'UTC' });

/** Returns the bar of a UTC date. */
export const dayBar = (day: string, values: number[]): Bar => ({
  label: day,
  tick: ticks.format(new Date(`${day}T00:00:00Z`)),
  values,
});
