export interface Day {
  /** UTC date, such as `2026-11-23`. */
  day: string;
  /** One value per series; empty for a day without a record. */
  values: number[];
}

interface Props {
  title: string;
  /** The series, from the bottom to the top of each bar. */
  series: readonly { name: string; color: string }[];
  days: Day[];
  format: (value: number) => string;
}

const HEIGHT = 100;
const GAP = 0.2;

const sum = (values: number[]) => values.reduce((total, value) => total + value, 0);

/** Bar chart with one bar per day, stacked by series and scaled to the highest day. */
export function DayChart({ title, series, days, format }: Props) {
  const totals = days.map(({ values }) => sum(values));
  const highest = Math.max(1, ...totals);
  const first = days[0]?.day;
  const last = days.at(-1);
  const isRecorded = days.some(({ values }) => values.length > 0);
  const most = isRecorded ? `at most ${format(Math.max(0, ...totals))}` : 'nothing recorded yet';
  const today = isRecorded ? `today ${format(totals.at(-1) ?? 0)}, ` : '';
  return (
    <figure class="day-chart">
      <figcaption>
        <span class="chart-title">{title}</span>
        <span class="muted small">{most}</span>
      </figcaption>
      <svg
        viewBox={`0 0 ${days.length} ${HEIGHT}`}
        preserveAspectRatio="none"
        role="img"
        aria-label={`${title} by day: ${today}${most}`}
      >
        {days.map(({ day, values }, x) => (
          <g key={day}>
            <title>{`${day}: ${values.length === 0 ? 'nothing recorded' : series.map(({ name }, i) => `${format(values[i] ?? 0)} ${name}`).join(', ')}`}</title>
            <rect class="hit" x={x} y={0} width={1} height={HEIGHT} />
            {values.map((value, i) => {
              const height = (value / highest) * HEIGHT;
              const below = (sum(values.slice(0, i)) / highest) * HEIGHT;
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
      <p class="chart-days muted small">
        <span>{first}</span>
        <span>{last?.day}</span>
      </p>
      {series.length > 1 && (
        <ul class="chart-legend small">
          {series.map(({ name, color }) => (
            <li key={name}>
              <span class={`swatch ${color}`} aria-hidden="true" />
              {name}
            </li>
          ))}
        </ul>
      )}
    </figure>
  );
}

const DAY_MS = 24 * 60 * 60 * 1000;

/** Returns the dates of the last `count` UTC days, today included. */
export function lastDays(count: number, now: number = Date.now()): string[] {
  return Array.from({ length: count }, (_, i) =>
    new Date(now - (count - 1 - i) * DAY_MS).toISOString().slice(0, 10),
  );
}
