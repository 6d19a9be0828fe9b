import { databaseTime } from '../postgres/clock.ts';
import type { Database } from '../postgres/database.ts';
import { readPages } from '../util/pages.ts';
import { oldestAnswerKeptQuery, pruneAnswersQuery, tenantsWithAnswersQuery } from './queries.ts';

const HOUR_MS = 60 * 60 * 1000;
const TENANTS_A_PAGE = 500;
/** Small, so that a statement takes far less than its time limit. */
const ANSWERS_A_BATCH = 2000;
/** Advisory lock key. Arbitrary, but every replica must use the same value: only one prunes at a time. */
const PRUNING_LOCK = 7_236_105_553;

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
  let pruned = 0;
  const faults: unknown[] = [];
  const ran = await database.withJobLock(PRUNING_LOCK, async () => {
    const now = options.now ?? (await databaseTime(database));
    const before = new Date(now.getTime() - options.hours * HOUR_MS).toISOString();
    for await (const { id: tenant } of tenantsWithAnswers(database)) {
      try {
        pruned += await forgetAnswers(database, tenant, before);
        if (options.maxAnswers > 0) pruned += await forgetAnswersOver(database, tenant, options.maxAnswers);
      } catch (error) {
        faults.push(error);
      }
    }
    if (faults.length > 0) throw faults[0];
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

function tenantsWithAnswers(database: Database): AsyncGenerator<{ id: string }> {
  return readPages<{ id: string }>(async (last) => {
    const params = { after: last?.id ?? '', limit: TENANTS_A_PAGE };
    return (await database.query(tenantsWithAnswersQuery, params)).rows;
  }, TENANTS_A_PAGE);
}
