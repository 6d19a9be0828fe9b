import { randomUUID } from 'node:crypto';
import type { Config } from '../config.ts';
import type { Database } from '../database/database.ts';
import { defineQuery, type QueryExecutor, time } from '../database/query.ts';
import { ServiceError } from '../errors/errors.ts';
import { cutPage, type Page } from '../lib/pages.ts';
import { type Actor, storedActor } from '../memory/origin.ts';
import {
  type KeptOutEntry,
  type KeyedHashes,
  keptOutEntry,
  MAX_TOKENS,
  MIN_BYTES,
} from '../memory/secrets/kept-out.ts';
import { keyedHashes, requireInstallation } from './installation.ts';
import { lockTenantQuery } from './queries.ts';

/** Owner of the entries for all tenants. */
export const FOR_ALL = '';
export const FIRST_ENTRY = '00000000-0000-0000-0000-000000000000';

/**
 * Number of changes after which removals are deleted. A replica that has missed more changes reads all entries again.
 */
export const KEPT_CHANGES = 10_000;

/** Maximum number of entries in one tenant's list, and in the list for all tenants. */
export const MAX_ENTRIES = 10_000;
/** Maximum number of entries in an installation, because every process keeps them in memory. */
export const MAX_ALL_ENTRIES = 100_000;

/** A list entry, which never includes the text. */
export interface KeptOutRow {
  id: string;
  /** The text's token count. */
  tokens: number;
  label: string;
  createdAt: string;
  createdBy: Actor;
}

const COLUMNS = `id::text, tokens, label, ${time('created_at')} AS "createdAt", created_by AS "createdBy"`;

const addEntryQuery = defineQuery<{
  id: string;
  owner: string;
  hash: string;
  prefix: number;
  tokens: number;
  label: string;
  by: string;
  change: number;
}>(
  'add_kept_out',
  `
INSERT INTO kept_out (id, tenant_id, hash, prefix, tokens, label, created_by, change)
VALUES ($id::text::uuid, $owner, decode($hash, 'hex'), $prefix::integer, $tokens::integer, $label, $by::text::jsonb,
  $change::bigint)
ON CONFLICT (tenant_id, hash) DO NOTHING
`,
);

const findEntryQuery = defineQuery<{ owner: string; hash: string }, KeptOutRow>(
  'find_kept_out',
  `SELECT ${COLUMNS} FROM kept_out WHERE tenant_id = $owner AND hash = decode($hash, 'hex')`,
);

const listEntriesQuery = defineQuery<{ owner: string; after: string; limit: number }, KeptOutRow>(
  'list_kept_out',
  `
SELECT ${COLUMNS} FROM kept_out
WHERE tenant_id = $owner AND removed IS NULL AND id > $after::text::uuid ORDER BY id LIMIT $limit::bigint
`,
);

const countEntriesQuery = defineQuery<{ owner: string }, { owned: number; total: number }>(
  'count_kept_out',
  `
SELECT count(*) FILTER (WHERE tenant_id = $owner)::float8 AS owned, count(*)::float8 AS total
FROM kept_out WHERE removed IS NULL
`,
);

/** Keeps the ID, so that replicas can remove the entry. The ID is unique, so it can replace the hash. */
const removeEntryQuery = defineQuery<{ owner: string; id: string; change: number }>(
  'remove_kept_out',
  `
UPDATE kept_out SET removed = 'entry', change = $change::bigint, hash = decode(replace($id, '-', ''), 'hex'),
  prefix = 0, label = ''
WHERE tenant_id = $owner AND id = $id::text::uuid AND removed IS NULL
`,
);

const removeEntriesQuery = defineQuery<{ owner: string }>(
  'remove_all_kept_out',
  'DELETE FROM kept_out WHERE tenant_id = $owner',
);

/** Adds the row that tells replicas to remove all the tenant's entries. */
const noteRemovalQuery = defineQuery<{ id: string; owner: string; change: number }>(
  'note_kept_out_removal',
  `
INSERT INTO kept_out (id, tenant_id, hash, prefix, tokens, created_by, change, removed)
VALUES ($id::text::uuid, $owner, decode(replace($id, '-', ''), 'hex'), 0, 0, '{}', $change::bigint, 'all')
`,
);

const pruneRemovalsQuery = defineQuery<{ until: number }>(
  'prune_kept_out_removals',
  'DELETE FROM kept_out WHERE removed IS NOT NULL AND change < $until::bigint',
);

/** Moves removed entries too. They keep their IDs, so that replicas can remove them. */
const moveEntriesQuery = defineQuery<{ owner: string; to: string; change: number }>(
  'move_kept_out',
  `
UPDATE kept_out SET tenant_id = $to, change = $change::bigint
WHERE tenant_id = $owner AND removed IS DISTINCT FROM 'all'
`,
);

const copyEntriesQuery = defineQuery<{ owner: string; to: string; change: number }>(
  'copy_kept_out',
  `
INSERT INTO kept_out (id, tenant_id, hash, prefix, tokens, label, created_at, created_by, change)
SELECT gen_random_uuid(), $to, hash, prefix, tokens, label, created_at, created_by, $change::bigint FROM kept_out
WHERE tenant_id = $owner AND removed IS NULL
`,
);

const countRowsQuery = defineQuery<{ owner: string }, { n: number }>(
  'count_kept_out_rows',
  'SELECT count(*)::float8 AS n FROM kept_out WHERE tenant_id = $owner',
);

/** Counts changes, so that every replica reads the changed rows. Locks the installation's row. */
const countChangesQuery = defineQuery<{ changes: number }, { change: number }>(
  'count_kept_out_changes',
  `
UPDATE installation SET kept_out_changes = kept_out_changes + $changes::bigint WHERE id = 'installation'
RETURNING kept_out_changes::float8 AS change
`,
);

/** Begins a change: locks the installation until the transaction ends, and returns the change number. */
async function beginChange(query: QueryExecutor): Promise<number> {
  const [{ change } = { change: 0 }] = (await query(countChangesQuery, { changes: 1 })).rows;
  await query(pruneRemovalsQuery, { until: change - KEPT_CHANGES });
  return change;
}

/**
 * Adds a text to a tenant's list, or to the list for all tenants (`FOR_ALL`). A text that is in the list already keeps
 * its entry.
 *
 * @throws ServiceError if the text is too short or too long, or the list is full
 */
export async function addKeptOut(
  database: Database,
  config: Config,
  owner: string,
  { text, label, by }: { text: string; label: string; by: Actor },
): Promise<KeptOutRow> {
  await requireInstallation(database.query, config);
  return database.transaction(async (query) => {
    if (owner !== FOR_ALL) {
      const [tenant] = (await query(lockTenantQuery, { tenant: owner })).rows;
      if (tenant === undefined) throw new ServiceError('no_such_tenant', owner);
    }
    // Locks the installation, so that its secret and the number of entries remain the same.
    const change = await beginChange(query);
    const entry = await entryFor(text, keyedHashes(await requireInstallation(query, config)));
    const [count] = (await query(countEntriesQuery, { owner })).rows;
    const { owned = 0, total = 0 } = count ?? {};
    const [known] = (await query(findEntryQuery, { owner, hash: entry.hash })).rows;
    if (known !== undefined) return known;
    if (owned >= MAX_ENTRIES) throw new ServiceError('too_many_kept_out', MAX_ENTRIES);
    if (total >= MAX_ALL_ENTRIES) throw new ServiceError('too_many_kept_out', MAX_ALL_ENTRIES);
    await query(addEntryQuery, {
      id: randomUUID(),
      owner,
      label,
      by: storedActor(by),
      change,
      ...entry,
    });
    const [added] = (await query(findEntryQuery, { owner, hash: entry.hash })).rows;
    if (added === undefined) throw new Error('An entry was removed in the transaction that added it.');
    return added;
  });
}

async function entryFor(text: string, hashes: KeyedHashes): Promise<KeptOutEntry> {
  const entry = await keptOutEntry(text, hashes);
  if (entry === 'too_short') throw new ServiceError('kept_out_too_short', MIN_BYTES);
  if (entry === 'too_long') throw new ServiceError('kept_out_too_long', MAX_TOKENS);
  return entry;
}

/** @throws ServiceError if the text is too short or too long to be kept out */
export async function checkKeptOut(text: string): Promise<void> {
  await entryFor(text, { sign: () => '', shortKey: [0, 0] });
}

export async function listKeptOut(
  { query }: Pick<Database, 'query'>,
  owner: string,
  { after, limit }: { after: string | null; limit: number },
): Promise<Page<KeptOutRow, { id: string }>> {
  const params = { owner, after: after ?? FIRST_ENTRY, limit: limit + 1 };
  const { rows } = await query(listEntriesQuery, params);
  return cutPage(rows, limit, ({ id }) => ({ id }));
}

/** @throws ServiceError if the list does not have the entry */
export async function removeKeptOut(database: Database, owner: string, id: string): Promise<void> {
  await database.transaction(async (query) => {
    const change = await beginChange(query);
    if ((await query(removeEntryQuery, { owner, id, change })).count === 0)
      throw new ServiceError('no_such_kept_out', id);
  });
}

// The transaction has locked the tenant. The installation's row is locked before entries, like in `addKeptOut`.

/** Removes a tenant's entries when the tenant is deleted. */
export async function removeAllKeptOut(query: QueryExecutor, tenant: string): Promise<void> {
  if (!(await hasEntries(query, tenant))) return;
  const change = await beginChange(query);
  await query(removeEntriesQuery, { owner: tenant });
  await query(noteRemovalQuery, { id: randomUUID(), owner: tenant, change });
}

export async function moveKeptOut(query: QueryExecutor, tenant: string, to: string): Promise<void> {
  if (!(await hasEntries(query, tenant))) return;
  const change = await beginChange(query);
  await query(moveEntriesQuery, { owner: tenant, to, change });
}

export async function copyKeptOut(query: QueryExecutor, tenant: string, to: string): Promise<void> {
  if (!(await hasEntries(query, tenant))) return;
  const change = await beginChange(query);
  await query(copyEntriesQuery, { owner: tenant, to, change });
}

/**
 * Deletes the row that tells replicas to remove a deleted tenant's entries. All replicas read all entries again,
 * because they cannot read this row any more.
 */
export async function forgetKeptOut(database: Database, tenant: string): Promise<void> {
  await database.transaction(async (query) => {
    if ((await query(countRowsQuery, { owner: tenant })).rows[0]?.n === 0) return;
    await query(countChangesQuery, { changes: KEPT_CHANGES + 1 });
    await query(removeEntriesQuery, { owner: tenant });
  });
}

async function hasEntries(query: QueryExecutor, owner: string): Promise<boolean> {
  return (await query(listEntriesQuery, { owner, after: FIRST_ENTRY, limit: 1 })).rows.length > 0;
}
