import { databaseTime } from '../postgres/clock.ts';
import type { Database } from '../postgres/database.ts';
import { newestAnswerOverQuery, nextTenantWithAnswersQuery, pruneAnswersQuery } from './queries.ts';

const HOUR_MS = 60 * 60 * 1000;
/** Small, so that a statement takes far less than its time limit. */
const ANSWERS_A_BATCH = 2000;
/** Advisory lock key. Arbitrary, but every replica must use the same value: only one prunes at a time. */
const PRUNING_LOCK = 7_236_105_553;

/**
 * Forgets the answers under idempotency keys that are older than `hours`, and the oldest of tenants that have more than `maxAnswers` (0: no
 * limit), tenant by tenant, in batches. A tenant whose answers cannot
 * be pruned does not keep the job from the others; the first such fault is thrown at the end.
 *
 * @param options.now by default the database's time
 * @returns how many, or undefined when another process is at it.
 */
export async function pruneAnswers(
  database: Database,
  options: { hours: number; maxAnswers: number; now?: Date },
): Promise<number | undefined> {
  let pruned = 0;
  const faults: unknown[] = [];
  const ran = await database.withJobLock(PRUNING_LOCK, async () => {
    const now = options.now ?? (await databaseTime(database));
    const until = new Date(now.getTime() - options.hours * HOUR_MS).toISOString();
    for await (const tenant of tenantsWithAnswers(database)) {
      try {
        pruned += await forgetAnswers(database, tenant, until);
        if (options.maxAnswers > 0) pruned += await forgetAnswersOver(database, tenant, options.maxAnswers);
      } catch (error) {
        faults.push(error);
      }
    }
    if (faults.length > 0) throw faults[0];
  });
  return ran ? pruned : undefined;
}

/** Forgets a tenant's oldest answers beyond so many; returns how many. */
export async function forgetAnswersOver(
  database: Database,
  tenant: string,
  maxAnswers: number,
): Promise<number> {
  const newest = (await database.query(newestAnswerOverQuery, { tenant, maxAnswers })).rows[0];
  return newest === undefined ? 0 : forgetAnswers(database, tenant, newest.createdAt);
}

/** @param until an answer of this very time is forgotten too */
async function forgetAnswers(database: Database, tenant: string, until: string): Promise<number> {
  let forgotten = 0;
  for (let count = ANSWERS_A_BATCH; count === ANSWERS_A_BATCH; forgotten += count) {
    ({ count } = await database.query(pruneAnswersQuery, { tenant, until, limit: ANSWERS_A_BATCH }));
  }
  return forgotten;
}

async function* tenantsWithAnswers(database: Database): AsyncGenerator<string> {
  let after = '';
  for (;;) {
    const next = (await database.query(nextTenantWithAnswersQuery, { after })).rows[0];
    if (next === undefined) return;
    yield next.tenant;
    after = next.tenant;
  }
}
