import { randomUUID } from 'node:crypto';
import type { Config } from '../../core/config.ts';
import type { Database } from '../../core/database/database.ts';
import { defineQuery, type QueryExecutor, time } from '../../core/database/query.ts';
import { ServiceError } from '../../core/errors/errors.ts';
import { readContentsQuery } from '../../core/history/history.ts';
import { checkComplete } from '../../core/history/past.ts';
import { COVERS } from '../../core/history/version.ts';
import { batches, readPages } from '../../core/lib/pages.ts';
import { type Actor, storedActor } from '../../core/memory/origin.ts';
import { copyEntries } from '../../core/tenants/copy.ts';
import { effectiveSettings } from '../../core/tenants/effective-settings.ts';
import { recordEvent } from '../../core/tenants/events.ts';
import {
  bindRootQuery,
  findTenantQuery,
  lockTenantQuery,
  setTenantQuery,
  suspendTenantQuery,
  type TenantRow,
} from '../../core/tenants/queries.ts';
import { rejectArchived } from '../../core/tenants/stores.ts';
import { followSettings, requireSameTenant, requireTenant, Tenants } from '../../core/tenants/tenants.ts';
import { type Draft, findDraft, findKeyDraftQuery, insertDraftQuery, openDrafts } from './drafts.ts';
import { lastChangeOrCreationQuery } from './trees.ts';

/*
 * Creates drafts. A draft's memory starts as a copy of a tenant's memory, from the caller's snapshot or from a past
 * time.
 */

const createDraftTenantQuery = defineQuery<{ id: string; tenant: string; at: string }>(
  'create_draft_tenant',
  'INSERT INTO tenants (id, draft_of, last_change_at) VALUES ($id, $tenant, $at::text::timestamptz)',
);

const copyBaseQuery = defineQuery<{ tenant: string }>(
  'copy_draft_base',
  `
INSERT INTO draft_base (tenant_id, path, memory_id, version)
SELECT e.tenant_id, e.path, e.memory_id, e.version FROM entries AS e WHERE e.tenant_id = $tenant
`,
);

const countDraftQuery = defineQuery<{ tenant: string }>(
  'count_draft',
  `
UPDATE tenants SET
  file_count = (SELECT count(*) FROM entries AS e WHERE e.tenant_id = $tenant AND e.kind = 'file'),
  byte_count = (SELECT COALESCE(sum(e.size_bytes), 0) FROM entries AS e WHERE e.tenant_id = $tenant AND e.kind = 'file')
WHERE id = $tenant
`,
);

/**
 * Creates the tenant that stores a draft's memory. Files keep their IDs and versions.
 *
 * @param at a past time; null or a time after the last change copies the current state
 * @param maxBytes the draft's size limit; null means the tenant's limit
 * @returns the copied state's time
 * @throws ServiceError if the history is incomplete at that time
 */
export async function copyToDraft(
  query: QueryExecutor,
  source: TenantRow,
  { id, at: given, maxBytes }: { id: string; at: string | null; maxBytes: number | null },
): Promise<string> {
  const tenant = source.id;
  const [current] = (await query(lastChangeOrCreationQuery, { tenant })).rows;
  if (current === undefined) throw new Error('A tenant in a snapshot is missing.');
  const at = given !== null && given < current.at ? given : null;
  if (at !== null) await checkComplete(query, tenant, at);
  const baseAt = at ?? current.at;
  await query(createDraftTenantQuery, { id, tenant, at: baseAt });
  // A draft's files must not expire, because their deletion would become part of the proposal.
  await query(setTenantQuery, { ...source, maxBytes: maxBytes ?? source.maxBytes, ttlDays: 0, tenant: id });
  if (at === null) await copyEntries(query, tenant, id, { keepsHistory: true, at: null, origin: null });
  else await copyPast(query, tenant, id, at);
  await query(bindRootQuery, { tenant: id });
  await query(copyBaseQuery, { tenant: id });
  await query(countDraftQuery, { tenant: id });
  return baseAt;
}

interface PastEntry {
  path: string;
  memoryId: string | null;
  version: string | null;
  operation: string | null;
  origin: string | null;
  changedAt: string;
  sizeBytes: number;
}

const listPastEntriesQuery = defineQuery<
  { tenant: string; at: string; after: string; limit: number },
  PastEntry
>(
  'list_past_entries',
  `
SELECT p.path, p.memory_id AS "memoryId", p.version, p.operation, p.origin, ${time('p.changed_at')} AS "changedAt",
  COALESCE(p.size_bytes, 0) AS "sizeBytes"
FROM (
  SELECT v.path, v.memory_id, v.id AS version, v.operation, v.origin::text AS origin, v.created_at AS changed_at,
    v.size_bytes
  FROM memory_versions AS v
  WHERE v.tenant_id = $tenant AND v.path > $after AND ${COVERS('v.created_at', 'v.superseded_at', '$at')}
  UNION ALL
  SELECT d.path, NULL, NULL, NULL, NULL, d.created_at, NULL FROM memory_directories AS d
  WHERE d.tenant_id = $tenant AND d.path > $after AND ${COVERS('d.created_at', 'd.removed_at', '$at')}
) AS p
ORDER BY p.path LIMIT $limit::integer
`,
);

/** Inserts directories and files into an empty memory. Each directory precedes its children. */
const insertEntriesQuery = defineQuery<{
  tenant: string;
  paths: string[];
  memoryIds: (string | null)[];
  versions: (string | null)[];
  operations: (string | null)[];
  origins: (string | null)[];
  changedAt: string[];
  contents: (string | null)[];
}>(
  'insert_entries',
  `
INSERT INTO entries AS e (
  tenant_id, path, parent_path, kind, content, version, memory_id, operation, changed_at, updated_at, origin
)
SELECT $tenant, f.path, CASE WHEN f.path <> '/memories' THEN memory_parent(f.path) END,
  CASE WHEN f.version IS NULL THEN 'dir' ELSE 'file' END, f.content, f.version::uuid, f.memory_id::uuid, f.operation,
  f.changed_at::timestamptz, f.changed_at::timestamptz, f.origin::jsonb
FROM unnest($paths::text[], $memoryIds::text[], $versions::text[], $operations::text[], $origins::text[],
  $changedAt::text[], $contents::text[])
  AS f (path, memory_id, version, operation, origin, changed_at, content)
`,
);

const PAGE = 500;
const BATCH = { items: PAGE, weight: 4 * 1024 * 1024, weigh: ({ sizeBytes }: PastEntry) => sizeBytes };

async function copyPast(query: QueryExecutor, tenant: string, to: string, at: string): Promise<void> {
  const entries = readPages<PastEntry>(async (last) => {
    const page = { tenant, at, after: last?.path ?? '', limit: PAGE };
    return (await query(listPastEntriesQuery, page)).rows;
  }, PAGE);
  for await (const batch of batches(withRoot(entries, at), BATCH)) {
    const files = batch.flatMap(({ memoryId, version }) =>
      memoryId !== null && version !== null ? [{ memoryId, version }] : [],
    );
    const { rows } = await query(readContentsQuery, {
      tenant,
      memoryIds: files.map(({ memoryId }) => memoryId),
      ids: files.map(({ version }) => version),
    });
    const contents = new Map(rows.map(({ item, content }) => [files[item - 1]?.version, content]));
    await query(insertEntriesQuery, {
      tenant: to,
      paths: batch.map(({ path }) => path),
      memoryIds: batch.map(({ memoryId }) => memoryId),
      versions: batch.map(({ version }) => version),
      operations: batch.map(({ operation }) => operation),
      origins: batch.map(({ origin }) => origin),
      changedAt: batch.map(({ changedAt }) => changedAt),
      contents: batch.map(({ version }) => (version === null ? null : (contents.get(version) ?? ''))),
    });
  }
}

/** Adds the root before the first entry, because the history does not record the root. */
async function* withRoot(entries: AsyncIterable<PastEntry>, at: string): AsyncGenerator<PastEntry> {
  let isFirst = true;
  const none = { memoryId: null, version: null, operation: null, origin: null, sizeBytes: 0 };
  for await (const entry of entries) {
    if (isFirst) yield { path: '/memories', changedAt: at, ...none };
    isFirst = false;
    yield entry;
  }
}

export interface NewDraft {
  title: string;
  author: Actor;
  /** Time whose state is copied; defaults to now. */
  at?: string | undefined;
  /** Proposer that owns the draft. Each has at most one open draft. */
  keyId?: string | undefined;
  /** Tenant through whose mount the proposer writes. */
  viaTenant?: string | undefined;
  /** The expected tenant's creation time. Detects a later tenant with the same ID. */
  tenantCreatedAt?: string | undefined;
}

/**
 * Creates a draft from a tenant's memory. The copy does not block the tenant's writers. Registering the draft blocks
 * them briefly.
 *
 * @returns the new draft, or the draft that a concurrent request with the same key created
 * @throws ServiceError if the tenant does not exist, is archived, or is a draft; if a draft limit would be exceeded; or
 * if the history is incomplete at the time `at`
 */
export async function createDraft(
  database: Database,
  config: Config,
  tenant: string,
  { title, author, at, keyId, viaTenant, tenantCreatedAt }: NewDraft,
): Promise<Draft> {
  const found = await requireTenant(database, tenant);
  const { createdAt } = found;
  if ((tenantCreatedAt ?? createdAt) !== createdAt) throw new ServiceError('tenant_replaced', tenant);
  if (found.draftOf !== null) throw new ServiceError('draft_of_draft', tenant);
  await rejectArchived(database.query, tenant);
  await checkQuota(database.query, config, found);
  const id = `draft_${randomUUID().replaceAll('-', '')}`;
  const baseAt = await database.transaction(
    async (query) => {
      const source = await requireTenant({ query }, tenant);
      if (source.createdAt !== createdAt) throw new ServiceError('tenant_replaced', tenant);
      const maxBytes = await checkQuota(query, config, source);
      return copyToDraft(query, source, { id, at: at ?? null, maxBytes });
    },
    { snapshot: 'writable' },
  );
  const proposer = { keyId: keyId ?? null, viaTenant: viaTenant ?? null };
  try {
    const registered = await database.transaction((query) =>
      register(query, config, { tenant, id, title, author, ...proposer, baseAt }, createdAt),
    );
    if (registered !== id) await new Tenants(database).deleteDraft(id);
    return await findDraft(database.query, tenant, registered);
  } catch (error) {
    await new Tenants(database).deleteDraft(id);
    throw error;
  }
}

/** Registers a copied draft. Returns the draft's ID, or the ID of the open draft that the key already has. */
async function register(
  query: QueryExecutor,
  config: Config,
  draft: Pick<Draft, 'tenant' | 'id' | 'title' | 'author' | 'keyId' | 'viaTenant' | 'baseAt'>,
  /** The copied tenant's creation time. */
  createdAt: string,
): Promise<string> {
  const { tenant, id, keyId, author } = draft;
  if ((await query(lockTenantQuery, { tenant })).rows.length === 0)
    throw new ServiceError('no_such_tenant', tenant);
  await requireSameTenant({ query }, tenant, createdAt);
  await rejectArchived(query, tenant);
  if (keyId !== null) {
    const [existing] = (await query(findKeyDraftQuery, { tenant, keyId })).rows;
    if (existing !== undefined) return existing.id;
  }
  const [row] = (await query(findTenantQuery, { tenant })).rows;
  const [own] = (await query(findTenantQuery, { tenant: id })).rows;
  if (row === undefined || own === undefined) throw new ServiceError('no_such_tenant', tenant);
  await checkQuota(query, config, row, own.bytes);
  await query(insertDraftQuery, { ...draft, author: storedActor(author) });
  await recordEvent(query, tenant, { type: 'draft_opened', draft: { id, state: 'open' } }, author);
  // The tenant's settings may have changed since the copy.
  await followSettings(query, row, id);
  if (row.suspendedAt !== null) await query(suspendTenantQuery, { tenant: id, since: row.suspendedAt });
  return id;
}

/**
 * Checks that a tenant may have another draft.
 *
 * @param bytes the draft's size
 * @returns the draft's size limit; null means the tenant's limit
 * @throws ServiceError if a draft limit would be exceeded
 */
async function checkQuota(
  query: QueryExecutor,
  config: Config,
  row: TenantRow,
  bytes = row.bytes,
): Promise<number | null> {
  const { maxDrafts, maxDraftBytes, maxBytes } = effectiveSettings(row, config);
  const open = await openDrafts(query, row.id);
  if (maxDrafts > 0 && open.count >= maxDrafts) throw new ServiceError('too_many_drafts', row.id, maxDrafts);
  if (maxDraftBytes === 0) return null;
  const left = maxDraftBytes - open.bytes;
  if (left <= 0 || bytes > left)
    throw new ServiceError('drafts_too_large', row.id, open.bytes, maxDraftBytes, bytes);
  return maxBytes === 0 ? left : Math.min(maxBytes, left);
}
