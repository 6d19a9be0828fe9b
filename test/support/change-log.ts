import type { FleetLog } from '../../src/features/feed/fleet-log.ts';

/** Turns the change log on, and waits for its first position, which transactions in other databases delay. */
export async function startLog(log: FleetLog): Promise<void> {
  await log.maintain(7);
  while ((await log.latest()) === undefined);
}
