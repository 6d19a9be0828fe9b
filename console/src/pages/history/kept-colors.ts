import type { Actor } from '../../../../src/core/memory/origin.ts';
import { keptSignal } from '../../ui/kept.ts';
import { assignColors, hashText, SERIES } from './actor-colors.ts';

/** Color shared by the remaining actors. */
export const OTHER = 'var(--series-other)';

/**
 * Colors by a hash over the tenant and the actor, which names neither. An actor keeps its color after a reload, and in
 * another period on the timeline.
 */
const kept = keptSignal<Record<string, number>>('actor-colors');

/**
 * Returns the actors' colors, the busiest actor first. If there are more actors than colors, the remaining
 * actors share one color.
 */
export function actorColors(tenant: string, actors: readonly Actor[]): string[] {
  const keys = actors.map((actor) => String(hashText(`${tenant} ${JSON.stringify(actor)}`)));
  const colors = assignColors(kept.peek() ?? {}, keys.slice(0, SERIES));
  kept.value = colors;
  return keys.map((key, i) => (i < SERIES ? `var(--series-${colors[key]})` : OTHER));
}
