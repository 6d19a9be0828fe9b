import type { Config } from '../../core/config.ts';
import type { Database } from '../../core/database/database.ts';
import { runTenantJob } from '../../core/database/tenant-job.ts';
import { DAY_MS } from '../../core/lib/units.ts';
import { pruneReadsQuery, tenantsWithReadsQuery } from './read-queries.ts';

const RECORDS_A_BATCH = 1000;

/**
 * Deletes the records of reads that are older than their tenant's setting, and all records of tenants whose read trail
 * is off.
 *
 * @param now the database's time by default
 * @returns number of deleted records
 */
export async function pruneReads(
  database: Database,
  { READ_LOG_DAYS: readLogDays }: Pick<Config, 'READ_LOG_DAYS'>,
  now?: Date,
): Promise<number> {
  let pruned = 0;
  await runTenantJob(database, {
    job: 'reads',
    now,
    readTenants: (page) => database.query(tenantsWithReadsQuery, { ...page, readLogDays }),
    work: async ({ id: tenant, readLogDays: days }, at) => {
      const before = new Date(at.getTime() - days * DAY_MS).toISOString();
      for (;;) {
        const { count } = await database.query(pruneReadsQuery, { tenant, before, limit: RECORDS_A_BATCH });
        pruned += count;
        if (count < RECORDS_A_BATCH) return;
      }
    },
  });
  return pruned;
}
