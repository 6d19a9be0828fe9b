import { defineBatchQuery, defineQuery, time } from '../database/query.ts';
import { snakeCase } from '../lib/text-forms.ts';
import type { OverQuota, Quotas } from '../memory/memory-store.ts';
import type { Mount } from '../memory/mount.ts';
import { ALL_SETTINGS, isNumberSetting, type TenantSettings } from './settings.ts';

export interface TenantRow extends TenantSettings {
  id: string;
  files: number;
  bytes: number;
  /** Number of superseded versions, and history size in bytes. */
  historyVersions: number;
  historyBytes: number;
  /** Times are ISO 8601. */
  createdAt: string;
  suspendedAt: string | null;
  /** Details for the Memory Stores API (stores.ts). */
  name: string | null;
  description: string;
  metadata: Record<string, string>;
  archivedAt: string | null;
  /** Ordered by name. */
  mounts: Mount[];
  /** Original tenant, if this tenant is a draft (src/features/drafts). */
  draftOf: string | null;
}

// The driver returns integers beyond 32 bits as text. As float8, they are numbers, which are exact up to 2^53.
export const TENANT_COLUMNS = `
  id, file_count::float8 AS files, byte_count::float8 AS bytes, ${time('created_at')} AS "createdAt",
  ${time('suspended_at')} AS "suspendedAt",
  name, description, metadata, ${time('archived_at')} AS "archivedAt", COALESCE(mounts, '[]') AS mounts,
  draft_of AS "draftOf",
  history_versions::float8 AS "historyVersions", history_bytes::float8 AS "historyBytes",
  ${ALL_SETTINGS.map(([name, setting]) => `${snakeCase(name)}${isNumberSetting(setting) ? '::float8' : ''} AS "${name}"`).join(', ')}`;

export const findTenantsBatchQuery = defineBatchQuery(
  'find_tenants',
  { tenant: 'text' },
  (calls) => `SELECT c.item::integer, ${TENANT_COLUMNS} FROM ${calls} JOIN tenants AS t ON t.id = c.tenant`,
  // A tenant's first calls write in the order in which they arrive.
  { inOrder: true },
);

export const findTenantQuery = defineQuery<{ tenant: string }, TenantRow>(
  'find_tenant',
  `SELECT ${TENANT_COLUMNS} FROM tenants WHERE id = $tenant`,
  findTenantsBatchQuery,
);

/** Placeholder for a missing tenant's creation time. Valid in Postgres, and before all other times. */
export const NO_TENANT = '-infinity';

export const tenantCreatedAtQuery = defineQuery<{ tenant: string }, { createdAt: string }>(
  'tenant_created_at',
  `SELECT ${time('created_at')} AS "createdAt" FROM tenants WHERE id = $tenant`,
);

/** Creates a tenant. `count` is 0 if the tenant already exists. */
export const createTenantQuery = defineQuery<{ tenant: string }>(
  'create_tenant',
  'INSERT INTO tenants (id) VALUES ($tenant) ON CONFLICT (id) DO NOTHING',
);

/** Lists a tenant's open drafts. On Citus, only the tenant's node is needed. */
export const listOpenDraftsQuery = defineQuery<{ tenant: string }, { id: string }>(
  'list_open_drafts',
  `SELECT id FROM drafts WHERE tenant_id = $tenant AND state = 'open'`,
);

/** Lists a tenant's drafts, including closed drafts whose deletion is incomplete. */
export const listDraftTenantsQuery = defineQuery<{ tenant: string }, { id: string }>(
  'list_draft_tenants',
  'SELECT id FROM tenants WHERE draft_of = $tenant',
);

/** Sets all of a tenant's settings. `count` is 0 if the tenant does not exist. */
export const setTenantQuery = defineQuery<{ tenant: string } & TenantSettings>(
  'set_tenant',
  `UPDATE tenants SET ${ALL_SETTINGS.map(([name, setting]) => `${snakeCase(name)} = $${name}::${isNumberSetting(setting) ? 'bigint' : 'text'}`).join(', ')} WHERE id = $tenant`,
);

const SUSPENDED =
  'CASE WHEN $since::timestamptz IS NULL THEN NULL ELSE COALESCE(suspended_at, $since::timestamptz) END';

/**
 * Suspends a tenant, or resumes it if `since` is null. Keeps the time of an earlier suspension. `count` is 0 if the
 * tenant does not exist.
 */
export const suspendTenantQuery = defineQuery<{ tenant: string; since: string | null }>(
  'suspend_tenant',
  `UPDATE tenants SET suspended_at = ${SUSPENDED} WHERE id = $tenant`,
);

export const LOCK_TENANT = `SELECT id, ${time('created_at')} AS "createdAt" FROM tenants WHERE id = $tenant FOR NO KEY UPDATE`;

/** Blocks other writes to the tenant until the transaction ends. */
export const lockTenantQuery = defineQuery<{ tenant: string }, { id: string; createdAt: string }>(
  'lock_tenant',
  LOCK_TENANT,
);

/**
 * Locks a tenant for a change with several statements, and returns the change's time; null if the tenant does not
 * exist.
 */
export const beginChangeQuery = defineQuery<{ tenant: string }, { at: string | null }>(
  'begin_change',
  `SELECT ${time('memory_begin_change($tenant)')} AS at`,
);

/** Gives the root its tenant's creation time, after statements that inserted the root or changed the time. */
export const bindRootQuery = defineQuery<{ tenant: string }>('bind_root', 'SELECT memory_bind_root($tenant)');

/**
 * Deletes at most `limit` entries from a tenant. Returns a `bigint` without a cast, so that Citus runs the function on
 * the tenant's node.
 */
export const deleteEntriesQuery = defineQuery<{ tenant: string; limit: number }, { erased: number | string }>(
  'erase_entries',
  'SELECT memory_erase_entries($tenant, $limit::integer) AS erased',
);

/** Deletes at most `limit` rows from a tenant's history. */
export const deleteHistoryQuery = defineQuery<
  { tenant: string; limit: number },
  { versions: number; directories: number }
>(
  'erase_history',
  `
SELECT versions::float8, directories::float8 FROM memory_erase_history($tenant, $limit::integer)
`,
);

/** Deletes at most `limit` records of reads. */
export const deleteReadsQuery = defineQuery<{ tenant: string; limit: number }>(
  'delete_reads',
  `
DELETE FROM reads WHERE tenant_id = $tenant
  AND id = ANY (ARRAY(SELECT id FROM reads WHERE tenant_id = $tenant LIMIT $limit::bigint))
`,
);

/** Replaces a renamed or deleted tenant's ID in the reads through its mounts. */
export const replaceReaderQuery = defineQuery<{ tenant: string; to: string }>(
  'replace_reader',
  'UPDATE reads SET via_tenant = $to WHERE via_tenant = $tenant',
);

/** Replaces a renamed or deleted tenant's ID in the drafts that collect writes through its mounts. */
export const replaceProposerQuery = defineQuery<{ tenant: string; to: string }>(
  'replace_proposer',
  'UPDATE drafts SET via_tenant = $to WHERE via_tenant = $tenant',
);

export const deleteTenantKeysQuery = defineQuery<{ tenant: string }>(
  'delete_tenant_keys',
  'DELETE FROM api_keys WHERE tenant_id = $tenant',
);
export const deleteTenantQuery = defineQuery<{ tenant: string }>(
  'delete_tenant',
  'DELETE FROM tenants WHERE id = $tenant',
);

/**
 * Returns the time when a tenant's memory was last changed or a file was last read. Reads have a resolution of one day.
 * Null if there were none.
 */
export const lastFileUseQuery = defineQuery<{ tenant: string }, { at: string | null }>(
  'last_file_use',
  `
SELECT ${time('greatest(t.last_change_at, max(greatest(e.updated_at, e.accessed_at)))')} AS at
FROM tenants AS t LEFT JOIN entries AS e ON e.tenant_id = $tenant AND e.kind = 'file'
WHERE t.id = $tenant GROUP BY t.last_change_at
`,
);

export const lastKeyUseQuery = defineQuery<{ tenant: string }, { at: string | null }>(
  'last_key_use',
  `SELECT ${time('max(last_used_at)')} AS at FROM api_keys WHERE tenant_id = $tenant`,
);

/** Adds to a tenant's usage, or returns the quota that would be exceeded. */
export const reserveQuery = defineQuery<
  { tenant: string; files: number; directories: number; bytes: number } & Quotas,
  { exceeded: Omit<OverQuota, 'kind'> | null }
>(
  'reserve',
  'SELECT memory_reserve($tenant, $files::bigint, $directories::bigint, $bytes::bigint, $maxFiles::bigint, $maxBytes::bigint) AS exceeded',
);

/** Assignments that recompute a tenant's history counters from its rows. */
export const COUNTED_HISTORY = `
  history_versions = (SELECT count(*) FROM versions AS v WHERE v.tenant_id = $tenant),
  history_bytes = (SELECT COALESCE(sum(v.bytes), 0) FROM versions AS v WHERE v.tenant_id = $tenant)
    + (SELECT COALESCE(sum(memory_directory_bytes(d.tenant_id, d.path)), 0) FROM past_directories AS d
      WHERE d.tenant_id = $tenant)`;

/** Deletes a tenant's webhooks, whose deliveries are then pruned. */
export const deleteTenantWebhooksQuery = defineQuery<{ tenant: string }>(
  'delete_tenant_webhooks',
  'DELETE FROM webhooks WHERE tenant_id = $tenant',
);

export const moveWebhooksQuery = defineQuery<{ tenant: string; to: string }>(
  'move_webhooks',
  'UPDATE webhooks SET tenant_id = $to WHERE tenant_id = $tenant',
);

/* Invitations and shares (src/features/sharing). Transactions lock tenants before shares. */

export const deleteShareQuery = defineQuery<{ id: string }>(
  'delete_share',
  'DELETE FROM shares WHERE id = $id',
);

export const changeShareQuery = defineQuery<{ id: string; access: string; prefix: string | null }>(
  'change_share',
  'UPDATE shares SET access = $access, prefix = $prefix::text WHERE id = $id',
);

export const moveInvitationsQuery = defineQuery<{ tenant: string; to: string }>(
  'move_invitations',
  'UPDATE invitations SET tenant_id = $to WHERE tenant_id = $tenant',
);

export const moveSharesQuery = defineQuery<{ tenant: string; to: string }>(
  'move_shares',
  `
UPDATE shares SET tenant_id = CASE WHEN tenant_id = $tenant THEN $to ELSE tenant_id END,
  to_tenant = CASE WHEN to_tenant = $tenant THEN $to ELSE to_tenant END
WHERE tenant_id = $tenant OR to_tenant = $tenant
`,
);

export const deleteTenantInvitationsQuery = defineQuery<{ tenant: string }>(
  'delete_tenant_invitations',
  'DELETE FROM invitations WHERE tenant_id = $tenant',
);

export const deleteTenantSharesQuery = defineQuery<{ tenant: string }>(
  'delete_tenant_shares',
  'DELETE FROM shares WHERE tenant_id = $tenant OR to_tenant = $tenant',
);

/** Deletes the records about messages with a deleted tenant's events. */
export const forgetDeliveriesQuery = defineQuery<{ tenant: string }>(
  'forget_deliveries',
  'DELETE FROM webhook_deliveries WHERE tenant_id = $tenant',
);

export const moveKeysQuery = defineQuery<{ tenant: string; to: string }>(
  'move_keys',
  'UPDATE api_keys SET tenant_id = $to WHERE tenant_id = $tenant',
);

/**
 * Replaces a tenant's ID in the scopes of admin keys. Null removes a deleted tenant's ID, so that the keys have no
 * access to a later tenant with the same ID.
 */
export const changeScopesQuery = defineQuery<{ tenant: string; to: string | null }>(
  'change_scopes',
  `
UPDATE api_keys SET only_tenants = array_remove(array_replace(only_tenants, $tenant::text, $to::text), NULL)
WHERE only_tenants IS NOT NULL AND $tenant::text = ANY (only_tenants)
`,
);
