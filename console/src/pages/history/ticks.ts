import { fromFields, toFields, zonedFormat } from '../../text/zone.ts';

/** A mark on the time axis, at the start of a unit in the chosen time zone. */
export interface Tick {
  /** Position in the range, from 0 to 1. */
  at: number;
  label: string;
}

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;

/** Distances between marks, the shortest first: in minutes within a day, in days, or in months. */
const STEPS = [
  ...[1, 5, 15, 30, 60, 3 * 60, 6 * 60, 12 * 60].map((minutes) => ({ minutes, length: minutes * MINUTE })),
  ...[1, 2, 7, 14].map((days) => ({ days, length: days * 24 * HOUR })),
  ...[1, 3, 6, 12, 60].map((months) => ({ months, length: months * 30 * 24 * HOUR })),
];

const CLOCK = zonedFormat({ hour: '2-digit', minute: '2-digit' });
const DAY = zonedFormat({ day: 'numeric', month: 'short' });
const MONTH = zonedFormat({ month: 'short', year: 'numeric' });

/** Returns at most `most` marks between two times. A mark at midnight has the day as its label. */
export function findTicks(since: string, until: string, most: number): Tick[] {
  const [start, end] = [Date.parse(since), Date.parse(until)];
  const step = STEPS.find(({ length }) => (end - start) / length <= most) ?? STEPS.at(-1);
  if (step === undefined || !(end > start)) return [];
  const ticks: Tick[] = [];
  for (let date = firstTick(start, step); fromFields(date) < end; date = nextTick(date, step)) {
    const time = fromFields(date);
    if (time < start) continue;
    const isMidnight = date.getHours() === 0 && date.getMinutes() === 0;
    const format = 'months' in step ? MONTH : isMidnight ? DAY : CLOCK;
    ticks.push({ at: (time - start) / (end - start), label: format.value.format(time) });
  }
  return ticks;
}

type Step = (typeof STEPS)[number];

/** Returns the start of the day or the month that contains a time. */
function firstTick(start: number, step: Step): Date {
  const time = toFields(start);
  time.setHours(0, 0, 0, 0);
  // Weeks begin on Monday.
  if ('days' in step && step.days % 7 === 0) time.setDate(time.getDate() - ((time.getDay() + 6) % 7));
  if ('months' in step) {
    time.setDate(1);
    time.setMonth(time.getMonth() - (time.getMonth() % Math.min(step.months, 12)));
  }
  return time;
}

/** Returns the next mark. Local dates keep midnight when the clocks change. */
function nextTick(time: Date, step: Step): Date {
  const next = new Date(time);
  if ('minutes' in step) next.setTime(time.getTime() + step.length);
  else if ('days' in step) next.setDate(time.getDate() + step.days);
  else next.setMonth(time.getMonth() + step.months);
  return next;
}
