import type { Database } from '../../core/database/database.ts';
import { defineQuery, type QueryExecutor, time } from '../../core/database/query.ts';
import { ServiceError } from '../../core/errors/errors.ts';
import { cutPage, type Page, type TimePosition } from '../../core/lib/pages.ts';
import type { Actor } from '../../core/memory/origin.ts';
import { listOpenDraftsQuery } from '../../core/tenants/queries.ts';

/* Records for open and closed drafts. An open draft's memory is a tenant with the draft's ID. */

export type DraftState = 'open' | 'merged' | 'replaced' | 'rejected' | 'expired';

/** A draft's record. Times are ISO 8601. */
export interface Draft {
  tenant: string;
  id: string;
  title: string;
  author: Actor;
  /** Proposer whose writes the draft collects: a propose-only key's ID, or the proposer through a mount. */
  keyId: string | null;
  /** Tenant through whose mount the proposer writes. */
  viaTenant: string | null;
  baseAt: string;
  createdAt: string;
  state: DraftState;
  closedAt: string | null;
  closedBy: Actor | null;
  /** Time that all the merge's versions share. */
  mergedAt: string | null;
  commentCount: number;
  /** Number of comments that are not resolved. */
  openCommentCount: number;
  /** The latest open comment that requests a review. */
  reviewRequest: { author: Actor; createdAt: string; reviewer: string } | null;
}

const COLUMNS = `tenant_id AS tenant, id, title, author, key_id AS "keyId", via_tenant AS "viaTenant",
  ${time('base_at')} AS "baseAt", ${time('created_at')} AS "createdAt", state, ${time('closed_at')} AS "closedAt", closed_by AS "closedBy",
  ${time('merged_at')} AS "mergedAt", jsonb_array_length(comments)::float8 AS "commentCount",
  jsonb_array_length(jsonb_path_query_array(comments, '$[*] ? (!exists(@.resolved))'))::float8 AS "openCommentCount",
  jsonb_path_query_array(comments, '$[*] ? (exists(@.reviewer) && !exists(@.resolved))') -> -1 AS "reviewRequest"`;

export const insertDraftQuery = defineQuery<{
  tenant: string;
  id: string;
  title: string;
  author: string;
  keyId: string | null;
  viaTenant: string | null;
  baseAt: string;
}>(
  'insert_draft',
  `
INSERT INTO drafts (tenant_id, id, title, author, key_id, via_tenant, base_at)
VALUES ($tenant, $id, $title, $author::text::jsonb, $keyId, $viaTenant, $baseAt::text::timestamptz)
`,
);

const findDraftQuery = defineQuery<{ tenant: string; id: string }, Draft>(
  'find_draft',
  `SELECT ${COLUMNS} FROM drafts WHERE tenant_id = $tenant AND id = $id`,
);

export const findKeyDraftQuery = defineQuery<{ tenant: string; keyId: string }, { id: string }>(
  'find_key_draft',
  `SELECT id FROM drafts WHERE tenant_id = $tenant AND key_id = $keyId AND state = 'open'`,
);

/** Closes an open draft. `count` is 0 if the draft is not open. */
export const closeDraftQuery = defineQuery<{
  tenant: string;
  id: string;
  state: DraftState;
  at: string;
  by: string;
  mergedAt: string | null;
}>(
  'close_draft',
  `
UPDATE drafts SET state = $state, closed_at = $at::text::timestamptz, closed_by = $by::text::jsonb,
  merged_at = $mergedAt::text::timestamptz, comments = '[]'::jsonb
WHERE tenant_id = $tenant AND id = $id AND state = 'open'
`,
);

const draftSizesQuery = defineQuery<{ ids: string[] }, DraftSize & { id: string }>(
  'draft_sizes',
  `
SELECT id, file_count::float8 AS files, byte_count::float8 AS bytes, ${time('last_change_at')} AS "lastChangeAt"
FROM tenants WHERE id = ANY ($ids::text[])
`,
);

export interface DraftSize {
  files: number;
  bytes: number;
  lastChangeAt: string;
}

/** @throws ServiceError if the tenant has no such draft */
export async function findDraft(query: QueryExecutor, tenant: string, id: string): Promise<Draft> {
  const [draft] = (await query(findDraftQuery, { tenant, id })).rows;
  if (draft === undefined) throw new ServiceError('no_such_draft', tenant, id);
  return draft;
}

/** @throws ServiceError if the tenant has no such draft, or it is closed */
export async function findOpenDraft(query: QueryExecutor, tenant: string, id: string): Promise<Draft> {
  const draft = await findDraft(query, tenant, id);
  if (draft.state !== 'open') throw new ServiceError('draft_closed', id, draft.state);
  return draft;
}

/** Lists the IDs of a tenant's open drafts. */
export async function openDraftIds(query: QueryExecutor, tenant: string): Promise<string[]> {
  return (await query(listOpenDraftsQuery, { tenant })).rows.map(({ id }) => id);
}

/** Counts a tenant's open drafts, and adds up their file sizes in bytes. */
export async function openDrafts(
  query: QueryExecutor,
  tenant: string,
): Promise<{ count: number; bytes: number }> {
  const ids = await openDraftIds(query, tenant);
  const sizes = await draftSizes(query, ids);
  return { count: ids.length, bytes: [...sizes.values()].reduce((sum, { bytes }) => sum + bytes, 0) };
}

export async function draftSizes(query: QueryExecutor, ids: string[]): Promise<Map<string, DraftSize>> {
  if (ids.length === 0) return new Map();
  return new Map((await query(draftSizesQuery, { ids })).rows.map(({ id, ...size }) => [id, size]));
}

/** Filter for a list of drafts. Null fields do not filter. */
export type DraftFilter = {
  tenant: string | null;
  /** `closed` matches every state except `open`. */
  state: DraftState | 'closed' | null;
  /** Tenants whose drafts the caller may see. */
  scope: string[] | null;
};

const MATCHES = `($tenant::text IS NULL OR tenant_id = $tenant)
  AND ($state::text IS NULL OR CASE WHEN $state::text = 'closed' THEN state <> 'open' ELSE state = $state::text END)
  AND ($scope::text[] IS NULL OR tenant_id = ANY ($scope::text[]))`;

const listDraftsQuery = defineQuery<
  DraftFilter & { beforeTime: string | null; beforeId: string | null; limit: number },
  Draft
>(
  'list_drafts',
  `
SELECT ${COLUMNS} FROM drafts
WHERE ${MATCHES} AND (created_at, id) < (COALESCE($beforeTime::text::timestamptz, 'infinity'), COALESCE($beforeId::text, ''))
ORDER BY drafts.created_at DESC, id DESC LIMIT $limit::integer
`,
);

const countDraftsQuery = defineQuery<
  DraftFilter,
  { count: number; tenants: number; oldestAt: string | null }
>(
  'count_drafts',
  `
SELECT count(*)::float8 AS count, count(DISTINCT tenant_id)::float8 AS tenants, ${time('min(created_at)')} AS "oldestAt"
FROM drafts WHERE ${MATCHES}
`,
);

/** Counts matching drafts and their distinct tenants, and finds the oldest draft's creation time. */
export async function countDrafts(database: Database, filter: DraftFilter) {
  const [counted] = (await database.query(countDraftsQuery, filter)).rows;
  if (counted === undefined) throw new Error('An aggregate returned no row.');
  return counted;
}

/** Reads a page of matching drafts, newest first. */
export async function readDraftPage(
  database: Database,
  filter: DraftFilter,
  before: TimePosition | null,
  limit: number,
): Promise<Page<Draft, TimePosition>> {
  const position = { beforeTime: before?.time ?? null, beforeId: before?.id ?? null };
  const { rows } = await database.query(listDraftsQuery, { ...filter, ...position, limit: limit + 1 });
  return cutPage(rows, limit, ({ createdAt: time, id }) => ({ time, id }));
}

/** Maximum number of changed files to look for in the original. */
const MAX_LOOKED_FOR = 1000;

const listChangedQuery = defineQuery<
  { tenant: string; limit: number },
  { memoryId: string; versionId: string }
>(
  'list_draft_changes',
  `
SELECT b.memory_id AS "memoryId", b.version AS "versionId" FROM draft_base AS b
LEFT JOIN entries AS e ON e.tenant_id = $tenant AND e.memory_id = b.memory_id
WHERE b.tenant_id = $tenant AND b.memory_id IS NOT NULL AND e.version IS DISTINCT FROM b.version LIMIT $limit::integer
`,
);

const countUnchangedQuery = defineQuery<
  { tenant: string; memoryIds: string[]; versions: string[] },
  { count: number }
>(
  'count_unchanged_files',
  `
SELECT count(*)::float8 AS count FROM entries
WHERE tenant_id = $tenant AND memory_id = ANY ($memoryIds::text[]::uuid[]) AND version = ANY ($versions::text[]::uuid[])
`,
);

/**
 * Counts the files that an open draft has changed, moved, or deleted, and the original has, too. Only these files can
 * conflict by their content. Returns null if the draft has changed too many files.
 */
export async function countChangedInBoth(
  query: QueryExecutor,
  { tenant, id }: Pick<Draft, 'tenant' | 'id'>,
): Promise<number | null> {
  const { rows } = await query(listChangedQuery, { tenant: id, limit: MAX_LOOKED_FOR + 1 });
  if (rows.length === 0) return 0;
  if (rows.length > MAX_LOOKED_FOR) return null;
  const memoryIds = rows.map(({ memoryId }) => memoryId);
  const versions = rows.map(({ versionId }) => versionId);
  const [unchanged] = (await query(countUnchangedQuery, { tenant, memoryIds, versions })).rows;
  return rows.length - (unchanged?.count ?? 0);
}

const countChangedQuery = defineQuery<{ tenant: string }, { base: number; kept: number; same: number }>(
  'count_draft_changes',
  `
SELECT count(*)::float8 AS base, count(e.memory_id)::float8 AS kept,
  COALESCE(sum(CASE WHEN e.version = b.version THEN 1 ELSE 0 END), 0)::float8 AS same
FROM draft_base AS b LEFT JOIN entries AS e ON e.tenant_id = $tenant AND e.memory_id = b.memory_id
WHERE b.tenant_id = $tenant AND b.memory_id IS NOT NULL
`,
);

/**
 * Counts the files that an open draft has added, changed, moved, or deleted.
 *
 * @param files total file count in the draft
 */
export async function countChangedFiles(query: QueryExecutor, id: string, files: number): Promise<number> {
  const [counted] = (await query(countChangedQuery, { tenant: id })).rows;
  if (counted === undefined) return 0;
  const { base, kept, same } = counted;
  return base - same + (files - kept);
}
