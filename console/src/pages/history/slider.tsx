import type { Activity } from '../../api/api-types.ts';
import { formatChosenTime } from '../../text/format.ts';
import { isBefore } from '../../text/time.ts';

const STEPS = 1000;

export interface SliderProps {
  activity: Activity;
  endsNow: boolean;
  /** Earliest selectable time. */
  earliest: string;
  /** The selected time, or null for now. */
  at: string | null;
  /** Called with the chosen time. The slider moves only when `at` changes. */
  onChange: (at: string | null) => void;
  onStep: (direction: 1 | -1) => void;
  onZoom: (factor: number) => void;
}

const ARROWS: Record<string, 1 | -1> = { ArrowLeft: -1, ArrowDown: -1, ArrowRight: 1, ArrowUp: 1 };
const ZOOMS: Record<string, number> = { '+': 1 / 4, '=': 1 / 4, '-': 4 };

/** Slider that selects a time. The pointer selects any time; an arrow key moves by one change. */
export function Slider({ activity, endsNow, earliest, at, onChange, onStep, onZoom }: SliderProps) {
  const [start, end] = [Date.parse(activity.since), Date.parse(activity.until)];
  const step = at === null ? STEPS : Math.round(((Date.parse(at) - start) / (end - start)) * STEPS);
  const value = Math.max(0, Math.min(STEPS, step));
  const stepTime = (step: number) => {
    if (step >= STEPS) return endsNow ? null : activity.until;
    // `activity.since` has microseconds, which a `Date` would lose.
    const time = step <= 0 ? activity.since : new Date(start + ((end - start) * step) / STEPS).toISOString();
    return isBefore(time, earliest) ? earliest : time;
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const [direction, factor] = [ARROWS[event.key], ZOOMS[event.key]];
    if (direction === undefined && factor === undefined) return;
    event.preventDefault();
    if (direction !== undefined) onStep(direction);
    if (factor !== undefined) onZoom(factor);
  };
  return (
    <input
      type="range"
      class="timeline-slider"
      aria-label="Time"
      aria-valuetext={at === null ? 'now' : formatChosenTime(at)}
      title="Arrow keys: one change. + and -: zoom."
      min={0}
      max={STEPS}
      value={value}
      onInput={({ currentTarget }) => {
        const chosen = currentTarget.valueAsNumber;
        currentTarget.value = String(value);
        onChange(stepTime(chosen));
      }}
      onKeyDown={onKeyDown}
    />
  );
}
