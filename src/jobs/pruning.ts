import type { Database } from '../db/database.ts';
import { withFaultsMapped } from '../db/errors.ts';
import { nextTenantWithAnswersStatement, pruneAnswersStatement } from '../db/statements/expiration.ts';

const HOUR_MS = 60 * 60 * 1000;
/** Any number, the same in each replica: only one of them prunes at a time. */
const PRUNING_LOCK = 7_236_105_553;

/**
 * Forgets the answers under idempotency keys that are older than `hours`, tenant by tenant.
 *
 * @returns how many, or undefined when another process is at it.
 */
export async function pruneAnswers(
  database: Database,
  options: { hours: number; now?: Date },
): Promise<number | undefined> {
  const { hours, now = new Date() } = options;
  const before = new Date(now.getTime() - hours * HOUR_MS).toISOString();
  let pruned = 0;
  const ran = await withFaultsMapped(() =>
    database.withJobLock(PRUNING_LOCK, async () => {
      let after = '';
      for (;;) {
        const next = (await database.run(nextTenantWithAnswersStatement, { after })).rows[0];
        if (next === undefined) return;
        pruned += (await database.run(pruneAnswersStatement, { tenant: next.tenant, before })).count;
        after = next.tenant;
      }
    }),
  );
  return ran ? pruned : undefined;
}
