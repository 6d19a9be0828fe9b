import { type Actor, actorTextVia } from '../../../src/memory/origin.ts';

import { formatAge, formatClock, formatExactTime, formatTime } from '../text/format.ts';
import { Name } from './name.tsx';

interface TimeProps {
  value: string;
  isAge?: boolean;
  /** Only the time of the day, below a heading that names the day. */
  isClock?: boolean;
}

/** A time, in the person's time zone; the exact one, here and in UTC, is its tooltip. */
export function Time({ value, isAge = false, isClock = false }: TimeProps) {
  return (
    <time dateTime={value} title={`${formatExactTime(value)} · ${value}`}>
      {isAge ? formatAge(value) : isClock ? formatClock(value) : formatTime(value)}
    </time>
  );
}

/** Who made a change, and through which other memory. */
export function ActorName({ actor, via = null }: { actor: Actor; via?: string | null }) {
  return <Name text={actorTextVia(actor, via)} />;
}

export function Badge({ kind, children }: { kind: string; children: string }) {
  return <span class={`badge ${kind}`}>{children}</span>;
}
