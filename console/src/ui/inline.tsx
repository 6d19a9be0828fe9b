import { type Actor, actorTextVia } from '../../../src/core/memory/origin.ts';

import { formatAge, formatClock, formatExactTime, formatTime } from '../text/format.ts';
import { Name } from './name.tsx';

interface TimeProps {
  value: string;
  isAge?: boolean;
  /** Whether to show only the time of day, below a heading with the date. */
  isClock?: boolean;
}

/** A time in the user's time zone. The tooltip shows the exact time, locally and in UTC. */
export function Time({ value, isAge = false, isClock = false }: TimeProps) {
  return (
    <time dateTime={value} title={`${formatExactTime(value)} · ${value}`}>
      {isAge ? formatAge(value) : isClock ? formatClock(value) : formatTime(value)}
    </time>
  );
}

/** A change's actor, with the mount's tenant if the change was made through a mount. */
export function ActorName({ actor, via = null }: { actor: Actor; via?: string | null }) {
  return <Name text={actorTextVia(actor, via)} />;
}

export function Badge({ kind, children }: { kind: string; children: string }) {
  return <span class={`badge ${kind}`}>{children}</span>;
}
