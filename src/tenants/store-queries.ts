import { defineQuery } from '../postgres/query.ts';
import { time } from '../postgres/time-column.ts';

/** What the Memory Stores API says of a tenant; times in ISO 8601. */
export interface StoreRow {
  id: string;
  name: string;
  description: string;
  metadata: Record<string, string>;
  createdAt: string;
  updatedAt: string;
  /** Null while files may be changed. */
  archivedAt: string | null;
}

const COLUMNS = `id, COALESCE(name, id) AS name, description, metadata, ${time('created_at')} AS "createdAt",
  ${time('updated_at')} AS "updatedAt", ${time('archived_at')} AS "archivedAt"`;

export const findStoreQuery = defineQuery<{ tenant: string }, StoreRow>(
  'find_store',
  ['tenant'],
  `SELECT ${COLUMNS} FROM tenants WHERE id = $1`,
);

/** A page of the stores, the newest first: those before `beforeTime` and, of one time, `beforeId`. Null: no condition. */
export const listStoresQuery = defineQuery<
  {
    beforeTime: string | null;
    beforeId: string | null;
    since: string | null;
    until: string | null;
    includeArchived: boolean;
    limit: number;
  },
  StoreRow
>(
  'list_stores',
  ['beforeTime', 'beforeId', 'since', 'until', 'includeArchived', 'limit'],
  `
SELECT ${COLUMNS} FROM tenants
WHERE (created_at, id) < (COALESCE($1::text::timestamptz, 'infinity'), COALESCE($2::text, ''))
  AND created_at >= COALESCE($3::text::timestamptz, '-infinity') AND created_at <= COALESCE($4::text::timestamptz, 'infinity')
  AND (archived_at IS NULL OR $5::boolean) AND draft_of IS NULL
ORDER BY tenants.created_at DESC, id DESC LIMIT $6::integer
`,
);

export const setStoreQuery = defineQuery<{
  tenant: string;
  name: string;
  description: string;
  metadata: string;
}>(
  'set_store',
  ['tenant', 'name', 'description', 'metadata'],
  'UPDATE tenants SET name = $2, description = $3, metadata = $4::text::jsonb, updated_at = now() WHERE id = $1',
);

/** Archives a store, unless it is archived. */
export const archiveStoreQuery = defineQuery<{ tenant: string }>(
  'archive_store',
  ['tenant'],
  'UPDATE tenants SET archived_at = now(), updated_at = now() WHERE id = $1 AND archived_at IS NULL',
);

/** Archives the drafts of a tenant. */
export const archiveDraftsQuery = defineQuery<{ tenant: string }>(
  'archive_drafts',
  ['tenant'],
  'UPDATE tenants SET archived_at = now() WHERE draft_of = $1 AND archived_at IS NULL',
);

/** Gives a tenant what the API says of another one. Null is the name of a tenant that has none but its id. */
export const copyStoreQuery = defineQuery<{
  tenant: string;
  name: string | null;
  description: string;
  metadata: string;
  archivedAt: string | null;
  updatedAt: string;
}>(
  'copy_store',
  ['tenant', 'name', 'description', 'metadata', 'archivedAt', 'updatedAt'],
  `
UPDATE tenants SET name = $2, description = $3, metadata = $4::text::jsonb, archived_at = $5::text::timestamptz,
  updated_at = $6::text::timestamptz
WHERE id = $1
`,
);
