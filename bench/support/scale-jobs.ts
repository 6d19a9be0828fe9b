import type { Config } from '../../src/core/config.ts';
import type { Database } from '../../src/core/database/database.ts';
import { expireFiles } from '../../src/core/files/expiry.ts';
import type { Services } from '../../src/core/files/services.ts';
import { pruneHistory } from '../../src/core/history/pruning.ts';
import { pruneAudit } from '../../src/core/tenants/audit.ts';
import { tenantDefaults } from '../../src/core/tenants/effective-settings.ts';
import { fleetDays, fleetTotals, mostActive, recordSizes } from '../../src/core/tenants/fleet-usage.ts';
import { pruneStoredResults } from '../../src/core/tenants/stored-results.ts';
import { readTenantPage } from '../../src/core/tenants/tenant-listing.ts';
import { expireDrafts } from '../../src/features/drafts/close.ts';
import { searchForOperator } from '../../src/features/search/operator-search.ts';
import { memorySearch } from '../../src/features/search/search.ts';
import type { BenchDatabase } from './postgres.ts';

/** Time and strongest lock for work on the whole database. */
export interface JobRow {
  name: string;
  ms: number;
  /** Strongest lock on a table, for example `RowExclusiveLock on entries`. */
  lock: string;
}

/** Locks in ascending strength (https://www.postgresql.org/docs/current/explicit-locking.html). */
const STRENGTHS = [
  'AccessShareLock',
  'RowShareLock',
  'RowExclusiveLock',
  'ShareUpdateExclusiveLock',
  'ShareLock',
  'ShareRowExclusiveLock',
  'ExclusiveLock',
  'AccessExclusiveLock',
];

const LOCKS_QUERY = `
SELECT DISTINCT c.relname AS name, l.mode FROM pg_locks AS l JOIN pg_class AS c ON c.oid = l.relation
WHERE l.locktype = 'relation' AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database())
  AND c.relkind = 'r' AND c.relnamespace = 'public'::regnamespace`;

/** Runs the hourly jobs, and operators' lists and searches, one at a time. */
export async function measureJobs(
  { query }: BenchDatabase,
  { services, database, config }: { services: Services; database: Database; config: Config },
): Promise<JobRow[]> {
  const page = { after: null, limit: 50 };
  const days = { from: '2020-01-01', until: null };
  const search = (id: string) =>
    searchForOperator(services.featureService(memorySearch), database, {
      tenant: { id, draftOf: null },
      input: { query: 'postgres statement' },
      at: undefined,
    });
  const work: Record<string, () => Promise<unknown>> = {
    'job: expiration of files after 90 days': () =>
      expireFiles(database, { defaultTtlDays: 90, ...tenantDefaults(config) }),
    'job: pruning of the history': () => pruneHistory(database, tenantDefaults(config)),
    'job: pruning of stored results': () =>
      pruneStoredResults(database, { hours: 24, maxStoredResults: config.MAX_TENANT_STORED_RESULTS }),
    'job: pruning of the audit trail': () => pruneAudit(database, config.AUDIT_DAYS),
    'job: recording of sizes': () => recordSizes(database, config),
    'job: expiration of drafts': () => expireDrafts(database, config),
    'tenants by ID, first page': () => readTenantPage(database, config, { order: 'id' }, page),
    'tenants by size, first page': () => readTenantPage(database, config, { order: 'bytes' }, page),
    'tenants by part of the name': () =>
      readTenantPage(database, config, { order: 'id', search: '9999' }, page),
    'usage of the fleet: totals': () => fleetTotals(database, config, 80),
    'usage of the fleet: days': () => fleetDays(database, days),
    'usage of the fleet: most active': () => mostActive(database, days, 10),
    'search of 100 files': () => search('t0'),
  };
  const rows: JobRow[] = [];
  for (const [name, run] of Object.entries(work)) {
    let strongest = { strength: -1, lock: 'none' };
    let isRunning = true;
    const watch = (async () => {
      while (isRunning) {
        for (const { name, mode } of await query(LOCKS_QUERY)) {
          const strength = STRENGTHS.indexOf(String(mode));
          if (strength > strongest.strength) strongest = { strength, lock: `${mode} on ${name}` };
        }
      }
    })();
    const started = performance.now();
    try {
      await run();
    } finally {
      isRunning = false;
    }
    rows.push({ name, ms: performance.now() - started, lock: strongest.lock });
    await watch;
  }
  return rows;
}
