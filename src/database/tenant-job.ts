import { readPages } from '../lib/pages.ts';
import { databaseTime } from './clock.ts';
import type { Database } from './database.ts';

const TENANTS_A_PAGE = 500;

/** Advisory lock keys. Arbitrary, but every replica must use the same values: only one runs a job at a time. */
export const JOB_LOCKS = {
  expiration: 7_236_105_552,
  results: 7_236_105_553,
  history: 7_236_105_554,
  usage: 7_236_105_555,
  dataMigration: 7_236_105_556,
  drafts: 7_236_105_557,
} as const;

/** A background job that works on tenants, one after the other. */
export interface TenantJob<Tenant extends { id: string }> {
  job: keyof typeof JOB_LOCKS;
  /** By default the database's time. */
  now?: Date | undefined;
  /**
   * Reads at most `limit` of the tenants to work on, in the order of their ids: those after one, or after '' the
   * first.
   */
  readTenants: (page: { after: string; limit: number }) => Promise<{ rows: Tenant[] }>;
  work: (tenant: Tenant, now: Date) => Promise<void>;
}

/**
 * Runs a job, unless another process does. A tenant on which it fails does not keep it from the others; the first
 * such fault is thrown at the end.
 *
 * @returns false when another process runs it.
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
