import type { Database } from './database.ts';
import type { QueryExecutor } from './query.ts';

/** Thrown to roll back the transaction of a dry run. */
class DryRun extends Error {}

/** Runs `work` in a transaction and, for a dry run, rolls it back. So a dry run makes the same checks. */
export async function transactionOrDryRun<T>(
  database: Database,
  dryRun: boolean,
  work: (query: QueryExecutor) => Promise<T>,
): Promise<T> {
  if (!dryRun) return database.transaction(work);
  let tried: { result: T } | undefined;
  try {
    return await database.transaction(async (query) => {
      tried = { result: await work(query) };
      throw new DryRun();
    });
  } catch (error) {
    if (error instanceof DryRun && tried !== undefined) return tried.result;
    throw error;
  }
}
