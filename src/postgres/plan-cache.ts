import { describeLeakingNodes, PLAN_CACHE_MODES, type PlanCacheMode } from '../citus/citus.ts';
import type { Database } from './database.ts';
import { asDatabaseError } from './errors.ts';
import { defineQuery } from './query.ts';

const planCacheModesQuery = defineQuery<Record<string, never>, PlanCacheMode>(
  'plan_cache_modes',
  [],
  PLAN_CACHE_MODES,
);

/** Reports the nodes of a Citus cluster that leak memory with their settings. Never rejects: a node may be down. */
export async function checkPlanCache(database: Database, report: (line: string) => void): Promise<void> {
  if (database.kind !== 'citus') return;
  try {
    const line = describeLeakingNodes((await database.query(planCacheModesQuery, {})).rows);
    if (line !== undefined) report(line);
  } catch (error) {
    report(`Could not check plan_cache_mode of the Citus nodes (${asDatabaseError(error).code}).`);
  }
}
