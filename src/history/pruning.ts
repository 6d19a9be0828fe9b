import { databaseTime } from '../postgres/clock.ts';
import type { Database } from '../postgres/database.ts';
import { readPages } from '../util/pages.ts';
import {
  pruneExcessQuery,
  pruneOldQuery,
  type Retention,
  tenantRetentionQuery,
  tenantsWithHistoryQuery,
} from './pruning-queries.ts';

const DAY_MS = 24 * 60 * 60 * 1000;
const TENANTS_A_PAGE = 500;
/** Small enough that a tenant's own writes never wait long for the job. */
const VERSIONS_A_BATCH = 500;
/** Of a live file, whatever their age; the head is one of them. */
const KEPT_OF_A_FILE = 10;
/** Advisory lock key. Arbitrary, but every replica must use the same value: only one prunes at a time. */
const PRUNING_LOCK = 7_236_105_554;

/** Before every version: '-infinity' would not be a time to the microsecond. */
const START = { after: '0001-01-01T00:00:00.000000Z', afterId: '00000000-0000-0000-0000-000000000000' };

export interface Pruned {
  versions: number;
  bytes: number;
}

const sinceStart: Pruned = { versions: 0, bytes: 0 };

/** What this process has pruned, for the metrics. */
export function prunedSinceStart(): Readonly<Pruned> {
  return sinceStart;
}

/**
 * Deletes superseded versions that are older than a tenant keeps them, and then the oldest until its history is within its bytes, in
 * small batches. The last versions of a live file are kept whatever their age, except where a tenant keeps no history. A tenant that
 * cannot be pruned does not keep the job from the others; the first such fault is thrown at the end.
 *
 * @param options.historyDays for tenants without a setting of their own; 0: keep none
 * @param options.maxHistoryBytes for tenants without a setting of their own; 0: no limit
 * @param options.tenant only this one
 * @param options.now by default the database's time
 * @returns what was deleted, or undefined when another process is at it.
 */
export async function pruneHistory(
  database: Database,
  options: {
    historyDays: number;
    maxHistoryBytes: number;
    tenant?: string | undefined;
    now?: Date;
  },
): Promise<Pruned | undefined> {
  const total: Pruned = { versions: 0, bytes: 0 };
  const count = (batch: Pruned) => {
    total.versions += batch.versions;
    total.bytes += batch.bytes;
    sinceStart.versions += batch.versions;
    sinceStart.bytes += batch.bytes;
  };
  const faults: unknown[] = [];
  const ran = await database.withJobLock(PRUNING_LOCK, async () => {
    const now = options.now ?? (await databaseTime(database));
    for await (const retention of retentions(database, options)) {
      try {
        await pruneOld(database, retention, now, count);
        await pruneExcess(database, retention, count);
      } catch (error) {
        faults.push(error);
      }
    }
    if (faults.length > 0) throw faults[0];
  });
  return ran ? total : undefined;
}

async function* retentions(
  database: Database,
  options: { historyDays: number; maxHistoryBytes: number; tenant?: string | undefined },
): AsyncGenerator<Retention> {
  const { historyDays, maxHistoryBytes, tenant } = options;
  if (tenant !== undefined) {
    yield* (await database.query(tenantRetentionQuery, { tenant, historyDays, maxHistoryBytes })).rows;
    return;
  }
  yield* readPages<Retention>(async (last) => {
    const params = { after: last?.id ?? '', historyDays, maxHistoryBytes, limit: TENANTS_A_PAGE };
    return (await database.query(tenantsWithHistoryQuery, params)).rows;
  }, TENANTS_A_PAGE);
}

async function pruneOld(
  database: Database,
  { id: tenant, historyDays }: Retention,
  now: Date,
  count: (batch: Pruned) => void,
): Promise<void> {
  const before = new Date(now.getTime() - historyDays * DAY_MS).toISOString();
  const keep = historyDays === 0 ? 0 : KEPT_OF_A_FILE;
  let { after, afterId } = START;
  for (;;) {
    const params = { tenant, before, keep, after, afterId, limit: VERSIONS_A_BATCH };
    const batch = (await database.query(pruneOldQuery, params)).rows[0];
    if (batch === undefined) return;
    count(batch);
    if (batch.after === null || batch.afterId === null) return;
    ({ after, afterId } = { after: batch.after, afterId: batch.afterId });
  }
}

async function pruneExcess(
  database: Database,
  { id: tenant, maxHistoryBytes: maxBytes, historyBytes }: Retention,
  count: (batch: Pruned) => void,
): Promise<void> {
  if (maxBytes === 0 || historyBytes <= maxBytes) return;
  for (;;) {
    const params = { tenant, maxBytes, limit: VERSIONS_A_BATCH };
    const batch = (await database.query(pruneExcessQuery, params)).rows[0];
    if (batch === undefined || batch.bytes === 0) return;
    count(batch);
  }
}
