import type { Database } from '../../core/database/database.ts';
import { defineQuery } from '../../core/database/query.ts';
import {
  type ConditionParams,
  conditionParams,
  IS_SELECTED,
  type TenantConditions,
} from '../../core/tenants/tenant-listing.ts';

/** Filter for a job's tenants. All conditions must match; drafts are never selected. */
export interface TenantSelection extends TenantConditions {
  /** Tenants that are left out. */
  except?: string[] | undefined;
  /** Job ID. Selects only tenants for which this job recorded an outcome, such as the tenants with hits from a find. */
  foundBy?: string | undefined;
  /** This job's end state when the selection was made: `inexact` if it failed in a tenant, or left places out. */
  foundByState?: 'done' | 'inexact' | 'cancelled' | undefined;
}

type Filter = ConditionParams & {
  except: string[];
  foundBy: string | null;
  onlyTenants: string[] | null;
};

const MATCHES = `${IS_SELECTED}
  AND id <> ALL ($except::text[])
  AND ($foundBy::text IS NULL OR EXISTS (
    SELECT FROM job_outcomes AS o WHERE o.tenant_id = tenants.id AND o.job_id = $foundBy::text::uuid
  ))
  AND ($onlyTenants::text[] IS NULL OR id = ANY ($onlyTenants::text[]))`;

interface Page {
  after: string;
  limit: number;
  /** Only tenants whose memory has changed since this time, and the tenants in `arrived`. */
  changedSince?: string | null;
  arrived?: readonly string[];
}

const selectTenantsQuery = defineQuery<Filter & Required<Page> & { arrived: string[] }, { id: string }>(
  'select_tenants',
  `
SELECT id FROM tenants WHERE id > $after AND ${MATCHES}
  AND ($changedSince::timestamptz IS NULL OR last_change_at >= $changedSince::timestamptz OR id = ANY ($arrived::text[]))
ORDER BY id LIMIT $limit::bigint
`,
);

const countSelectedQuery = defineQuery<Filter, { count: number }>(
  'count_selected_tenants',
  `SELECT count(*)::float8 AS count FROM tenants WHERE ${MATCHES}`,
);

function toFilter(
  { except, foundBy, foundByState: _, ...conditions }: TenantSelection,
  onlyTenants: readonly string[] | null,
): Filter {
  return {
    ...conditionParams(conditions),
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
  { arrived = [], ...page }: Page,
): Promise<string[]> {
  const params = { ...toFilter(selection, onlyTenants), changedSince: null, ...page, arrived: [...arrived] };
  return (await database.query(selectTenantsQuery, params)).rows.map(({ id }) => id);
}

export async function countSelected(
  database: Database,
  selection: TenantSelection,
  onlyTenants: readonly string[] | null,
): Promise<number> {
  return (await database.query(countSelectedQuery, toFilter(selection, onlyTenants))).rows[0]?.count ?? 0;
}
