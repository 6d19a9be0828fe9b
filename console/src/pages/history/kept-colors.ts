import type { Actor } from '../../../../src/memory/origin.ts';
import { keptSignal } from '../../ui/kept.ts';
import { assigned, SERIES } from './actor-colors.ts';

const OTHER = 'series-other';
const MAX_TENANTS = 20;

/** Colors by tenant and actor. A reload and another period of the timeline keep the color of an actor. */
const kept = keptSignal<Record<string, Record<string, number>>>('actor-colors');

/** Returns the color classes of actors, the busiest first. Actors beyond the colors share one. */
export function colorsOf(tenant: string, actors: readonly Actor[]): string[] {
  const keys = actors.map((actor) => JSON.stringify(actor));
  const before = kept.peek() ?? {};
  const colors = assigned(before[tenant] ?? {}, keys.slice(0, SERIES));
  const { [tenant]: _, ...others } = before;
  kept.value = Object.fromEntries([...Object.entries(others), [tenant, colors] as const].slice(-MAX_TENANTS));
  return keys.map((key, i) => (i < SERIES ? `series-${colors[key]}` : OTHER));
}
