import type { Actor } from '../../../../src/core/memory/origin.ts';
import { keptSignal } from '../../ui/kept.ts';
import { assigned, hashOf, SERIES } from './actor-colors.ts';

const OTHER = 'series-other';

/**
 * Colors by the hash of a tenant and an actor, which names neither. A reload and another period of the timeline keep the
 * color of an actor.
 */
const kept = keptSignal<Record<string, number>>('actor-colors');

/** Returns the color classes of actors, the busiest first. Actors beyond the colors share one. */
export function colorsOf(tenant: string, actors: readonly Actor[]): string[] {
  const keys = actors.map((actor) => String(hashOf(`${tenant} ${JSON.stringify(actor)}`)));
  const colors = assigned(kept.peek() ?? {}, keys.slice(0, SERIES));
  kept.value = colors;
  return keys.map((key, i) => (i < SERIES ? `series-${colors[key]}` : OTHER));
}
