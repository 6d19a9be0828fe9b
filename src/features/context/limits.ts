import { MAX_CONTEXT_CHARS } from '../../core/tenants/settings.ts';

/** Smallest limit on a snapshot, in UTF-16 units. */
export const MIN_CHARS = 1000;

/**
 * Returns a snapshot's limit in UTF-16 units.
 *
 * @param limits the limits that apply; 0 means no limit
 */
export function snapshotLimit(...limits: readonly number[]): number {
  const given = limits.filter((limit) => limit > 0);
  return Math.max(MIN_CHARS, Math.min(MAX_CONTEXT_CHARS, ...given));
}
