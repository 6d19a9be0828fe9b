import { moveKeysQuery } from '../auth/api-keys.ts';
import { copyAnswersQuery } from '../idempotency/queries.ts';
import type { Origin } from '../memory/origin.ts';
import type { Database } from '../postgres/database.ts';
import type { QueryExecutor } from '../postgres/query.ts';
import { storedOrigin } from '../store/origin.ts';
import {
  beginChangeQuery,
  createTenantQuery,
  findTenantQuery,
  lockTenantQuery,
  setTenantQuery,
  suspendTenantQuery,
  type TenantRow,
} from '../tenants/queries.ts';
import { copyStore } from '../tenants/stores.ts';
import { eraseLocked } from '../tenants/tenants.ts';
import {
  copyEntriesQuery,
  copyPastDirectoriesQuery,
  copyVersionsQuery,
  readHistoryStateQuery,
  setHistoryStateQuery,
} from './copy-queries.ts';
import { BATCH, reserveQuery } from './queries.ts';

export type Copied =
  | { kind: 'copied'; files: number; bytes: number; keys: number }
  | { kind: 'unknown_tenant' }
  | { kind: 'exists' };

/**
 * Creates the tenant `to` with the files and settings of `from`, suspended if `from` is. The history starts with the files, created by
 * `origin`. Writes to `from` wait meanwhile. Throws `DatabaseError`.
 */
export function copyTenant(database: Database, from: string, to: string, origin: Origin): Promise<Copied> {
  return database.transaction((query) =>
    copy(query, from, to, async () => {
      const at = (await query(beginChangeQuery, { tenant: to })).rows[0]?.at ?? null;
      await copyEntries(query, from, to, { keepsHistory: false, at, origin: storedOrigin(origin) });
    }),
  );
}

/**
 * Renames a tenant, with its history, keys, and stored answers. `tenant_id` determines the shard of a row and is never updated, so this
 * copies and deletes in one transaction that locks the tenant. A write that waits for the lock finds no tenant and is refused, not
 * lost. Throws `DatabaseError`.
 */
export function renameTenant(database: Database, from: string, to: string): Promise<Copied> {
  return database.transaction(async (query) => {
    const copied = await copy(query, from, to, async () => {
      await copyEntries(query, from, to, { keepsHistory: true, at: null, origin: null });
      await copyHistory(query, from, to);
    });
    if (copied.kind !== 'copied') return copied;
    await query(copyAnswersQuery, { tenant: from, to });
    // Keys are not sharded by tenant, so they can be updated.
    const keys = (await query(moveKeysQuery, { tenant: from, to })).count;
    await eraseLocked(query, from);
    return { ...copied, keys };
  });
}

/** In a transaction that has done nothing yet. */
async function copy(
  query: QueryExecutor,
  from: string,
  to: string,
  copyRows: () => Promise<void>,
): Promise<Copied> {
  await query(lockTenantQuery, { tenant: from });
  const source = (await query(findTenantQuery, { tenant: from })).rows[0];
  if (source === undefined) return { kind: 'unknown_tenant' };
  if ((await query(createTenantQuery, { tenant: to })).count === 0) return { kind: 'exists' };
  await copyRows();
  const { files, bytes } = source;
  // Before the limits are copied, because the source may exceed limits that were lowered later.
  await query(reserveQuery, { tenant: to, files, bytes, directories: 0, maxFiles: 0, maxBytes: 0 });
  await copySettings(query, source, to);
  return { kind: 'copied', files, bytes, keys: 0 };
}

const PAGE = { limit: BATCH.rows, bytes: BATCH.bytes };
const BEFORE_ALL_IDS = '00000000-0000-0000-0000-000000000000';

/** Copies in path order, so that a directory comes before its contents. */
async function copyEntries(
  query: QueryExecutor,
  from: string,
  to: string,
  as: { keepsHistory: boolean; at: string | null; origin: string | null },
): Promise<void> {
  await inPages('', async (after) => {
    const { rows } = await query(copyEntriesQuery, { tenant: from, to, after, ...PAGE, ...as });
    return rows.map(({ path }) => path);
  });
}

async function copyHistory(query: QueryExecutor, from: string, to: string): Promise<void> {
  const tenant = from;
  await inPages(BEFORE_ALL_IDS, async (after) => {
    const { rows } = await query(copyVersionsQuery, { tenant, to, after, ...PAGE });
    return rows.map(({ id }) => id);
  });
  await query(copyPastDirectoriesQuery, { tenant, to });
  const state = (await query(readHistoryStateQuery, { tenant })).rows[0];
  if (state) await query(setHistoryStateQuery, { tenant: to, ...state });
}

/** Copies page by page, each after the greatest key of the previous one in the order of the database. */
async function inPages(start: string, copyPage: (after: string) => Promise<string[]>): Promise<void> {
  for (let after: string | undefined = start; after !== undefined; ) {
    after = (await copyPage(after)).sort(byBytes).at(-1);
  }
}

function byBytes(a: string, b: string): number {
  return Buffer.compare(Buffer.from(a), Buffer.from(b));
}

async function copySettings(query: QueryExecutor, source: TenantRow, to: string): Promise<void> {
  await query(setTenantQuery, { ...source, tenant: to });
  await copyStore(query, source.id, to);
  if (source.suspendedAt === null) return;
  await query(suspendTenantQuery, { tenant: to, since: new Date(source.suspendedAt).toISOString() });
}
