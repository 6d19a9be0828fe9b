import { readPages } from '../lib/pages.ts';
import { databaseTime } from './clock.ts';
import type { Database } from './database.ts';
import { defineQuery } from './query.ts';

const TENANTS_A_PAGE = 500;

/**
 * Advisory lock keys. Arbitrary, but every replica must use the same values, so that each job runs on one replica at a
 * time.
 */
export const JOB_LOCKS = {
  expiration: 7_236_105_552,
  results: 7_236_105_553,
  history: 7_236_105_554,
  usage: 7_236_105_555,
  dataMigration: 7_236_105_556,
  drafts: 7_236_105_557,
  firstKey: 7_236_105_559,
  reads: 7_236_105_561,
} as const;

/** Takes an advisory lock until the transaction ends. */
export const lockUntilEndQuery = defineQuery<{ lock: number }>(
  'lock_until_end',
  'SELECT pg_advisory_xact_lock($lock::bigint)',
);

/** A background job that processes tenants one after the other. */
export interface TenantJob<Tenant extends { id: string }> {
  job: keyof typeof JOB_LOCKS;
  /** The database's time by default. */
  now?: Date | undefined;
  /** Reads a page with at most `limit` tenants, ordered by ID, after the ID `after`. The first page is after ''. */
  readTenants: (page: { after: string; limit: number }) => Promise<{ rows: Tenant[] }>;
  work: (tenant: Tenant, now: Date) => Promise<void>;
}

/**
 * Runs a job, unless another process runs it. After an error, continues with the next tenant, and throws the first
 * error at the end.
 *
 * @returns false when another process runs the job
 */
export function runTenantJob<Tenant extends { id: string }>(
  database: Database,
  { job, now: given, readTenants, work }: TenantJob<Tenant>,
): Promise<boolean> {
  return database.withJobLock(JOB_LOCKS[job], async () => {
    const now = given ?? (await databaseTime(database));
    const faults: unknown[] = [];
    const tenants = readPages<Tenant>(
      async (last) => (await readTenants({ after: last?.id ?? '', limit: TENANTS_A_PAGE })).rows,
      TENANTS_A_PAGE,
    );
    for await (const tenant of tenants) {
      try {
        await work(tenant, now);
      } catch (error) {
        faults.push(error);
      }
    }
    if (faults.length > 0) throw faults[0];
  });
}
