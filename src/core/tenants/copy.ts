import type { Database } from '../database/database.ts';
import { defineQuery, type QueryExecutor, time } from '../database/query.ts';
import { lockUntilEndQuery } from '../database/tenant-job.ts';
import { ServiceError } from '../errors/errors.ts';
import { compareCodePoints } from '../lib/text-forms.ts';
import type { Quotas } from '../memory/memory-store.ts';
import type { Mount } from '../memory/mount.ts';
import { type Actor, ANONYMOUS, type Origin, storedOrigin } from '../memory/origin.ts';
import { noteArrival } from './arrivals.ts';
import { copyEventsQuery, recordEvent } from './events.ts';
import { copyKeptOut, moveKeptOut } from './kept-out-entries.ts';
import { lockScopedKeysQuery, lockTenantKeysQuery } from './key-queries.ts';
import { copyMounts, moveMounts } from './mounts.ts';
import { recordNearLimits } from './near-limits.ts';
import {
  beginChangeQuery,
  bindRootQuery,
  COUNTED_HISTORY,
  changeScopesQuery,
  findTenantQuery,
  lockTenantQuery,
  moveInvitationsQuery,
  moveKeysQuery,
  moveSharesQuery,
  moveWebhooksQuery,
  replaceProposerQuery,
  replaceReaderQuery,
  reserveQuery,
  setTenantQuery,
  suspendTenantQuery,
  type TenantRow,
} from './queries.ts';
import { copyStoredResultsQuery } from './stored-results.ts';
import { copyStore } from './stores.ts';
import { deleteData, insertTenant } from './tenants.ts';

/*
 * Copies rows from one tenant to another inside the database, so that contents are not sent to this process. Each query
 * copies one page, which bounds its duration, and returns the copied keys in any order. The destination must not have
 * rows with these keys.
 */

/**
 * Copies a page of entries, ordered by path: at most `limit` entries, ending after the entry that reaches `bytes` in
 * total. With `keepsHistory`, files keep their versions. Otherwise, the copies are new files, created by `origin` at
 * the time `at`.
 */
export const copyEntriesQuery = defineQuery<
  {
    tenant: string;
    to: string;
    after: string;
    limit: number;
    bytes: number;
    keepsHistory: boolean;
    at: string | null;
    origin: string | null;
  },
  { path: string }
>(
  'copy_entries',
  `
INSERT INTO entries AS e (
  tenant_id, path, parent_path, kind, content, created_at, updated_at, accessed_at, version, memory_id, operation, changed_at, origin
)
SELECT $to, path, parent_path, kind, content, created_at, updated_at, accessed_at,
  CASE WHEN $keepsHistory::boolean THEN version WHEN kind = 'file' THEN id END,
  CASE WHEN $keepsHistory THEN memory_id WHEN kind = 'file' THEN id END,
  CASE WHEN $keepsHistory THEN operation WHEN kind = 'file' THEN 'created' END,
  CASE WHEN $keepsHistory THEN changed_at ELSE $at::timestamptz END,
  CASE WHEN $keepsHistory THEN origin WHEN kind = 'file' THEN $origin::text::jsonb END
FROM (
  SELECT *, memory_version_id(memory_id_prefix($at::timestamptz), memory_id) AS id,
    sum(COALESCE(size_bytes, 0)) OVER (ORDER BY path) - COALESCE(size_bytes, 0) AS before
  FROM entries WHERE tenant_id = $tenant AND path > $after ORDER BY path LIMIT $limit
) AS page
WHERE before < $bytes::bigint ORDER BY path
RETURNING e.path
`,
);

type HistoryPage = { tenant: string; to: string; after: string; limit: number };

/** Copies a page of versions: at most `limit` versions, ending after the version that reaches `bytes` in total. */
export const copyVersionsQuery = defineQuery<HistoryPage & { bytes: number }, { id: string }>(
  'copy_versions',
  `
INSERT INTO versions AS v (
  tenant_id, id, memory_id, operation, path, size_bytes, content_sha256, splice_start, splice_length, content,
  created_at, superseded_at, origin, redacted_at, redacted_by, bytes
)
SELECT $to, id, memory_id, operation, path, size_bytes, content_sha256, splice_start, splice_length, content,
  created_at, superseded_at, origin, redacted_at, redacted_by, memory_version_bytes($to, path, origin, content)
FROM (
  SELECT *, sum(bytes) OVER (ORDER BY id) - bytes AS before FROM versions
  WHERE tenant_id = $tenant AND id > $after::text::uuid ORDER BY id LIMIT $limit
) AS page
WHERE before < $bytes::bigint
RETURNING v.id
`,
);

/** Copies all rows in one statement, because they are small. */
export const copyPastDirectoriesQuery = defineQuery<{ tenant: string; to: string }>(
  'copy_past_directories',
  `
INSERT INTO past_directories (tenant_id, path, created_at, removed_at)
SELECT $to, path, created_at, removed_at FROM past_directories WHERE tenant_id = $tenant
`,
);

/** Copies all rows in one statement, because there is one per day. */
export const copyUsageQuery = defineQuery<{ tenant: string; to: string }>(
  'copy_usage',
  `
INSERT INTO tenant_usage (tenant_id, day, files, bytes, history_bytes, reads, writes, rejected)
SELECT $to, day, files, bytes, history_bytes, reads, writes, rejected FROM tenant_usage WHERE tenant_id = $tenant
`,
);

/** Copies all draft records in one statement, because they are small. */
export const copyDraftsQuery = defineQuery<{ tenant: string; to: string }>(
  'copy_drafts',
  `
INSERT INTO drafts (tenant_id, id, title, author, key_id, via_tenant, base_at, created_at, state, closed_at, closed_by,
  merged_at, comments)
SELECT $to, id, title, author, key_id, via_tenant, base_at, created_at, state, closed_at, closed_by, merged_at, comments
FROM drafts WHERE tenant_id = $tenant
`,
);

/** Copies all job outcomes in one statement, because jobs are deleted after some days. */
export const copyJobOutcomesQuery = defineQuery<{ tenant: string; to: string }>(
  'copy_job_outcomes',
  `
INSERT INTO job_outcomes (tenant_id, job_id, at, error, is_complete, counts, details)
SELECT $to, job_id, at, error, is_complete, counts, details FROM job_outcomes WHERE tenant_id = $tenant
`,
);

/** Copies a page of records of reads, ordered by ID. */
export const copyReadsQuery = defineQuery<HistoryPage, { id: string }>(
  'copy_reads',
  `
INSERT INTO reads AS r (tenant_id, id, memory_id, actor, via_tenant, tool_use_id, count, first_at, last_at)
SELECT $to, id, memory_id, actor, via_tenant, tool_use_id, count, first_at, last_at FROM reads
WHERE tenant_id = $tenant AND id > $after::text::uuid ORDER BY id LIMIT $limit
RETURNING r.id
`,
);

/** Advisory lock key. Arbitrary, but every replica must use the same value. */
const RENAME_LOCK = 7_236_105_558;

const moveDraftsQuery = defineQuery<{ tenant: string; to: string }>(
  'move_drafts',
  'UPDATE tenants SET draft_of = $to WHERE draft_of = $tenant',
);

/** A tenant's columns that describe its history. Times are text. */
export type HistoryState = {
  since: string;
  lastChangeAt: string | null;
  restoredAt: string | null;
  /** The tenant's creation time, and the earliest time for a revert. */
  createdAt: string;
};

export const readHistoryStateQuery = defineQuery<{ tenant: string }, HistoryState>(
  'read_history_state',
  `
SELECT COALESCE(${time('history_since')}, 'infinity') AS since, ${time('last_change_at')} AS "lastChangeAt",
  ${time('restored_at')} AS "restoredAt", ${time('created_at')} AS "createdAt"
FROM tenants WHERE id = $tenant
`,
);

/** Sets a tenant's history columns and counters after its history has been copied. */
export const setHistoryStateQuery = defineQuery<{ tenant: string } & HistoryState>(
  'set_history_state',
  `
UPDATE tenants SET ${COUNTED_HISTORY},
  history_since = $since::text::timestamptz, last_change_at = $lastChangeAt::text::timestamptz,
  restored_at = $restoredAt::text::timestamptz, created_at = $createdAt::text::timestamptz WHERE id = $tenant
`,
);

export interface Copied {
  files: number;
  bytes: number;
  keys: number;
}

export interface Renamed extends Copied {
  /** Tenants that mount the renamed tenant, now under its new ID. */
  mountedBy: string[];
}

/**
 * Creates the tenant `to` with the files and settings from `from`. A copy of a suspended tenant is suspended. The
 * history in `to` starts with the files, created by `origin`. Writes to `from` wait during the copy. Throws
 * `DatabaseError`.
 *
 * @throws ServiceError if `from` does not exist, or `to` exists
 */
export function copyTenantData(
  database: Database,
  from: string,
  to: string,
  origin: Origin,
  quotas: Quotas,
): Promise<Copied> {
  return database.transaction(async (query) => {
    const copied = await copy(query, from, to, isUnshared, async () => {
      await recordEvent(query, to, { type: 'tenant_created' }, origin.actor);
      const at = (await query(beginChangeQuery, { tenant: to })).rows[0]?.at ?? null;
      await copyEntries(query, from, to, { keepsHistory: false, at, origin: storedOrigin(origin) });
      await query(bindRootQuery, { tenant: to });
      await copyKeptOut(query, from, to);
    });
    await noteArrival(query, to);
    await recordNearLimits(query, { id: to, ...EMPTY }, quotas, origin.actor);
    return copied;
  });
}

/**
 * Renames a tenant with its history, keys, stored results, and usage. Mounts that show the tenant refer to its new ID.
 * `tenant_id` determines a row's shard and is never updated. The rename therefore copies and deletes rows in one
 * transaction that locks the tenant. A write that waits for the lock finds no tenant, and is retried with its caller's
 * tenant. Throws `DatabaseError`.
 *
 * @throws ServiceError if `from` does not exist or is a draft, or `to` exists
 */
export function moveTenantData(
  database: Database,
  from: string,
  to: string,
  by: Actor = ANONYMOUS,
): Promise<Renamed> {
  return database.transaction(async (query) => {
    // Prevents deadlocks between two tenants that mount each other: a rename locks the tenant first, and then the
    // mounting tenants.
    await query(lockUntilEndQuery, { lock: RENAME_LOCK });
    const draftOf = (await query(findTenantQuery, { tenant: from })).rows[0]?.draftOf ?? null;
    if (draftOf !== null) throw new ServiceError('is_draft', draftOf, from);
    const copied = await copy(
      query,
      from,
      to,
      () => true,
      async () => {
        await copyEntries(query, from, to, { keepsHistory: true, at: null, origin: null });
        await copyHistory(query, from, to);
      },
    );
    await query(copyStoredResultsQuery, { tenant: from, to });
    await query(copyUsageQuery, { tenant: from, to });
    await query(copyDraftsQuery, { tenant: from, to });
    await query(copyJobOutcomesQuery, { tenant: from, to });
    await query(copyEventsQuery, { tenant: from, to });
    await recordEvent(query, to, { type: 'tenant_renamed', previous_tenant: from }, by);
    await inPages(BEFORE_ALL_IDS, async (after) => {
      const { rows } = await query(copyReadsQuery, { tenant: from, to, after, ...PAGE });
      return rows.map(({ id }) => id);
    });
    await moveKeptOut(query, from, to);
    await query(moveDraftsQuery, { tenant: from, to });
    await deleteData(query, from);
    // Keys are not sharded by tenant, so they can be updated.
    await query(lockTenantKeysQuery, { tenant: from });
    const keys = (await query(moveKeysQuery, { tenant: from, to })).count;
    await query(lockScopedKeysQuery, { tenant: from });
    await query(changeScopesQuery, { tenant: from, to });
    await query(replaceReaderQuery, { tenant: from, to });
    await query(replaceProposerQuery, { tenant: from, to });
    await query(moveWebhooksQuery, { tenant: from, to });
    // An acceptance locks the invitation before the mounting tenant.
    await query(moveInvitationsQuery, { tenant: from, to });
    // Changes the mounts last, because writes to the mounting tenants wait from here on.
    const mountedBy = await moveMounts(query, from, to);
    await query(moveSharesQuery, { tenant: from, to });
    await noteArrival(query, to, from);
    return { ...copied, keys, mountedBy };
  });
}

/** A new tenant's usage and limits. */
const EMPTY = { files: 0, bytes: 0, maxFiles: null, maxBytes: null };

/** Whether an operator created the mount. An invitation was accepted for one tenant, not for its copies. */
const isUnshared = ({ share }: Mount) => share === undefined;

/** Copies a tenant. Must be the transaction's first step. */
async function copy(
  query: QueryExecutor,
  from: string,
  to: string,
  isCopied: (mount: Mount) => boolean,
  copyRows: () => Promise<void>,
): Promise<Copied> {
  await query(lockTenantQuery, { tenant: from });
  const source = (await query(findTenantQuery, { tenant: from })).rows[0];
  if (source === undefined) throw new ServiceError('no_such_tenant', from);
  if (!(await insertTenant(query, to))) throw new ServiceError('tenant_exists', to);
  await copyRows();
  const { files, bytes } = source;
  // Reserves the usage before the limits are copied, because the source may exceed limits that were lowered later.
  await query(reserveQuery, { tenant: to, files, bytes, directories: 0, maxFiles: 0, maxBytes: 0 });
  await copySettings(query, { ...source, mounts: source.mounts.filter(isCopied) }, to);
  return { files, bytes, keys: 0 };
}

const PAGE = { limit: 500, bytes: 4 * 1024 * 1024 };
const BEFORE_ALL_IDS = '00000000-0000-0000-0000-000000000000';

/**
 * Copies entries ordered by path, so that each directory precedes its children. The root keeps its creation time: see
 * `bindRootQuery`.
 */
export async function copyEntries(
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
  await query(bindRootQuery, { tenant: to });
}

/** Copies page by page. Each page starts after the greatest key on the previous page, in database order. */
async function inPages(start: string, copyPage: (after: string) => Promise<string[]>): Promise<void> {
  for (let after: string | undefined = start; after !== undefined; ) {
    after = (await copyPage(after)).sort(compareCodePoints).at(-1);
  }
}

async function copySettings(query: QueryExecutor, source: TenantRow, to: string): Promise<void> {
  await query(setTenantQuery, { ...source, tenant: to });
  await copyMounts(query, source.mounts, to);
  await copyStore(query, source.id, to);
  if (source.suspendedAt === null) return;
  await query(suspendTenantQuery, { tenant: to, since: source.suspendedAt });
}
