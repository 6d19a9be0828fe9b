import { randomUUID } from 'node:crypto';
import { databaseTime } from '../postgres/clock.ts';
import type { Database } from '../postgres/database.ts';
import { storedOrigin } from '../store/origin.ts';
import { readPages } from '../util/pages.ts';
import { countExpiredQuery, expireQuery, type TenantWithTtl, tenantsWithTtlQuery } from './queries.ts';

const DAY_MS = 24 * 60 * 60 * 1000;
const TENANTS_A_PAGE = 500;
/** Small, so that a tenant's own writes never wait long for the job. */
const FILES_A_BATCH = 200;
/** Advisory lock key. Arbitrary, but every replica must use the same value: only one expires files at a time. */
const EXPIRATION_LOCK = 7_236_105_552;
const ORIGIN = storedOrigin({ actor: { type: 'system', job: 'expiration' } });

/** What an expiration removed, or with `dryRun` would remove. */
export interface Expired {
  tenants: number;
  files: number;
  bytes: number;
}

/**
 * Removes the files that were neither read nor written for their tenant's TTL, in small batches. Directories stay.
 *
 * @param options.defaultTtlDays for tenants without a TTL of their own; 0: they keep their files
 * @param options.historyDays for how many days superseded versions are kept, in tenants without a setting of their own; `maxHistoryBytes`: how much
 * @param options.now by default the database's time
 * @param options.onTenant told after each tenant
 * @returns undefined when another process is at it.
 */
export async function expireFiles(
  database: Database,
  options: {
    defaultTtlDays: number;
    historyDays: number;
    maxHistoryBytes: number;
    dryRun?: boolean;
    now?: Date;
    onTenant?: (tenant: string, expired: { files: number; bytes: number }) => void;
  },
): Promise<Expired | undefined> {
  const { defaultTtlDays, dryRun = false, onTenant } = options;
  const total: Expired = { tenants: 0, files: 0, bytes: 0 };
  const ran = await database.withJobLock(EXPIRATION_LOCK, async () => {
    const now = options.now ?? (await databaseTime(database));
    for await (const { id, ttlDays } of tenantsWithTtl(database, defaultTtlDays)) {
      const before = new Date(now.getTime() - ttlDays * DAY_MS).toISOString();
      const expired = dryRun
        ? await countIn(database, id, before)
        : await expireIn(database, id, before, options);
      if (expired.files === 0) continue;
      total.tenants++;
      total.files += expired.files;
      total.bytes += expired.bytes;
      onTenant?.(id, expired);
    }
  });
  return ran ? total : undefined;
}

function tenantsWithTtl(database: Database, defaultTtlDays: number) {
  return readPages<TenantWithTtl>(async (last) => {
    const params = { after: last?.id ?? '', defaultTtlDays, limit: TENANTS_A_PAGE };
    return (await database.query(tenantsWithTtlQuery, params)).rows;
  }, TENANTS_A_PAGE);
}

async function countIn(database: Database, tenant: string, before: string) {
  return (await database.query(countExpiredQuery, { tenant, before })).rows[0] ?? { files: 0, bytes: 0 };
}

async function expireIn(
  database: Database,
  tenant: string,
  before: string,
  { historyDays, maxHistoryBytes }: { historyDays: number; maxHistoryBytes: number },
) {
  const expired = { files: 0, bytes: 0 };
  for (;;) {
    const params = {
      ...{ tenant, before, limit: FILES_A_BATCH, change: randomUUID(), origin: ORIGIN },
      ...{ historyDays, maxHistoryBytes },
    };
    const batch = (await database.query(expireQuery, params)).rows[0];
    if (batch === undefined || batch.files === 0) return expired;
    expired.files += batch.files;
    expired.bytes += batch.bytes;
  }
}
