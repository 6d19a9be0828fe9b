import type { Database } from '../database/database.ts';
import { defineQuery } from '../database/query.ts';
import { IS_SEARCHED } from '../tenants/listing.ts';

/** Filter of the tenants of a job. All conditions must match; drafts are never selected. */
export interface TenantSelection {
  /** Part of the ID or the name, case-insensitive. */
  search?: string | undefined;
  status?: 'active' | 'suspended' | 'archived' | undefined;
  /** Pairs that the metadata of the tenant contains. */
  metadata?: Record<string, string> | undefined;
  /** Tenants that are left out. */
  except?: string[] | undefined;
  /** ID of a job. Only tenants with an outcome in this job match, such as the tenants with hits of a find. */
  foundBy?: string | undefined;
}

type Filter = {
  search: string | null;
  status: string | null;
  metadata: string | null;
  except: string[];
  foundBy: string | null;
  onlyTenants: string[] | null;
};

const MATCHES = `${IS_SEARCHED}
  AND ($status::text IS NULL OR CASE $status::text
    WHEN 'archived' THEN archived_at IS NOT NULL
    WHEN 'suspended' THEN suspended_at IS NOT NULL
    ELSE suspended_at IS NULL AND archived_at IS NULL
  END)
  AND ($metadata::text IS NULL OR metadata @> $metadata::text::jsonb)
  AND id <> ALL ($except::text[])
  AND ($foundBy::text IS NULL OR EXISTS (
    SELECT FROM job_outcomes AS o WHERE o.tenant_id = tenants.id AND o.job_id = $foundBy::text::uuid
  ))
  AND ($onlyTenants::text[] IS NULL OR id = ANY ($onlyTenants::text[]))`;

interface Page {
  after: string;
  limit: number;
  /** Only tenants whose memory has changed since this time. */
  changedSince?: string | null;
}

const selectTenantsQuery = defineQuery<Filter & Required<Page>, { id: string }>(
  'select_tenants',
  `
SELECT id FROM tenants WHERE id > $after AND ${MATCHES}
  AND ($changedSince::text IS NULL OR last_change_at >= $changedSince::text::timestamptz)
ORDER BY id LIMIT $limit::bigint
`,
);

const countSelectedQuery = defineQuery<Filter, { count: number }>(
  'count_selected_tenants',
  `SELECT count(*)::float8 AS count FROM tenants WHERE ${MATCHES}`,
);

function filterOf(
  { search, status, metadata, except, foundBy }: TenantSelection,
  onlyTenants: readonly string[] | null,
): Filter {
  return {
    search: search ?? null,
    status: status ?? null,
    metadata: metadata === undefined ? null : JSON.stringify(metadata),
    except: except ?? [],
    foundBy: foundBy ?? null,
    onlyTenants: onlyTenants === null ? null : [...onlyTenants],
  };
}

/** Returns a page of the selected tenants, sorted by ID. The first page is after ''. */
export async function selectTenants(
  database: Database,
  selection: TenantSelection,
  onlyTenants: readonly string[] | null,
  page: Page,
): Promise<string[]> {
  const params = { ...filterOf(selection, onlyTenants), changedSince: null, ...page };
  return (await database.query(selectTenantsQuery, params)).rows.map(({ id }) => id);
}

export async function countSelected(
  database: Database,
  selection: TenantSelection,
  onlyTenants: readonly string[] | null,
): Promise<number> {
  return (await database.query(countSelectedQuery, filterOf(selection, onlyTenants))).rows[0]?.count ?? 0;
}
