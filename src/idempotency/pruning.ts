import type { Database } from '../postgres/database.ts';
import { runTenantJob } from '../postgres/tenant-job.ts';
import { oldestAnswerKeptQuery, pruneAnswersQuery, tenantsWithAnswersQuery } from './queries.ts';

const HOUR_MS = 60 * 60 * 1000;
/** Small, so that a statement takes far less than its time limit. */
const ANSWERS_A_BATCH = 2000;

/**
 * Deletes the answers under idempotency keys that are older than `hours`, and the oldest answers of tenants with more than `maxAnswers`
 * (0: no limit), tenant by tenant, in batches. After a fault in one tenant the job goes on with the others and throws the first fault at
 * the end.
 *
 * @param options.now by default the database's time
 * @returns how many were deleted, or undefined when another process runs the job
 */
export async function pruneAnswers(
  database: Database,
  options: { hours: number; maxAnswers: number; now?: Date },
): Promise<number | undefined> {
  const { hours, maxAnswers } = options;
  let pruned = 0;
  const ran = await runTenantJob(database, {
    job: 'results',
    now: options.now,
    readTenants: (page) => database.query(tenantsWithAnswersQuery, page),
    work: async ({ id: tenant }, now) => {
      const before = new Date(now.getTime() - hours * HOUR_MS).toISOString();
      pruned += await forgetAnswers(database, tenant, before);
      if (maxAnswers > 0) pruned += await forgetAnswersOver(database, tenant, maxAnswers);
    },
  });
  return ran ? pruned : undefined;
}

/**
 * Deletes a tenant's oldest answers beyond `maxAnswers`. Answers of one statement have the same time, so a few more may be kept.
 *
 * @returns how many were deleted
 */
export async function forgetAnswersOver(
  database: Database,
  tenant: string,
  maxAnswers: number,
): Promise<number> {
  const oldest = (await database.query(oldestAnswerKeptQuery, { tenant, maxAnswers })).rows[0];
  return oldest === undefined ? 0 : forgetAnswers(database, tenant, oldest.createdAt);
}

async function forgetAnswers(database: Database, tenant: string, before: string): Promise<number> {
  let forgotten = 0;
  for (let count = ANSWERS_A_BATCH; count === ANSWERS_A_BATCH; forgotten += count) {
    ({ count } = await database.query(pruneAnswersQuery, { tenant, before, limit: ANSWERS_A_BATCH }));
  }
  return forgotten;
}
