import type { KeyQuery } from '../../api/tenants-api.ts';
import { type Filter, FilterBar, SortField } from '../../ui/filter-bar.tsx';

const FIELDS: Record<string, Filter> = {
  tenant: { title: 'Tenant' },
  kind: {
    title: 'Kind',
    texts: { '': 'All kinds', tenant: 'Tenant keys', service: 'Service keys', admin: 'Admin keys' },
  },
  status: {
    title: 'Status',
    texts: { '': 'Any status', active: 'Active', expired: 'Expired', revoked: 'Revoked' },
  },
  use: {
    title: 'Use',
    texts: { '': 'Any use', unused: 'Unused for 90 days', expiring: 'Expires within 30 days' },
  },
};

const SORTS = { '': 'Newest first', used: 'Longest unused first', expires: 'Next to expire first' };

const UNUSED_DAYS = 90;
const EXPIRING_DAYS = 30;

/** Returns the filters in a URL as admin API parameters. */
export function readKeyQuery(query: URLSearchParams): KeyQuery {
  const queryValue = (name: string) => query.get(name) ?? '';
  return {
    tenant_contains: queryValue('tenant').trim(),
    search: queryValue('search').trim(),
    kind: queryValue('kind'),
    status: queryValue('status'),
    sort: queryValue('sort'),
    unused_days: queryValue('use') === 'unused' ? UNUSED_DAYS : undefined,
    expires_in_days: queryValue('use') === 'expiring' ? EXPIRING_DAYS : undefined,
  };
}

/** Whether a URL has a filter, so that an empty list does not mean that there are no keys. */
export const isFiltered = (query: URLSearchParams) =>
  ['search', ...Object.keys(FIELDS)].some((name) => query.has(name));

/** Search, filters, and order for the list of keys. */
export function KeyFilters({ query }: { query: URLSearchParams }) {
  return (
    <FilterBar query={query} search={{ name: 'search', title: 'Label or ID' }} filters={FIELDS}>
      <SortField texts={SORTS} query={query} />
    </FilterBar>
  );
}
