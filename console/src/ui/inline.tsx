import { type Actor, actorText } from '../../../src/memory/origin.ts';

import { formatAge, formatTime } from '../text/format.ts';

/** A time, in the person's time zone; the exact one in UTC is its tooltip. */
export function Time({ value, isAge = false }: { value: string; isAge?: boolean }) {
  return (
    <time dateTime={value} title={isAge ? `${formatTime(value)} · ${value}` : value}>
      {isAge ? formatAge(value) : formatTime(value)}
    </time>
  );
}

export function ActorName({ actor }: { actor: Actor }) {
  return <bdi class="actor">{actorText(actor)}</bdi>;
}

export function Badge({ kind, children }: { kind: string; children: string }) {
  return <span class={`badge ${kind}`}>{children}</span>;
}
