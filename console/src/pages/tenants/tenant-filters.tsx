import type { TenantQuery } from '../../api/tenants-api.ts';
import { type Filter, FilterBar, SortField } from '../../ui/filter-bar.tsx';

const SORTS = {
  id: 'ID',
  changed: 'Last change',
  used: 'Fullest',
  files: 'Most files',
  bytes: 'Largest',
};

const STATES = {
  '': 'All tenants',
  active: 'Active',
  suspended: 'Suspended',
  archived: 'Archived',
  'near-limit': 'Near a limit',
};
/** Percentage of a limit, as on the overview page. */
const NEAR_LIMIT = 90;

const STATE_QUERIES: Record<string, TenantQuery> = {
  active: { status: 'active' },
  suspended: { status: 'suspended' },
  archived: { status: 'archived' },
  'near-limit': { near_limit: NEAR_LIMIT },
};

/** Names for the filters in the URL. */
const FILTERS = ['search', 'metadata', 'state'];

/** Returns the filters in a URL as admin API parameters. */
export function readTenantQuery(query: URLSearchParams): TenantQuery {
  return {
    ...STATE_QUERIES[query.get('state') ?? ''],
    search: (query.get('search') ?? '').trim(),
    metadata: query.getAll('metadata').filter(isPair),
  };
}

/** Whether a text is a pair that the service accepts as a filter. */
const isPair = (text: string) => /^[^=]{1,64}=.{0,512}$/s.test(text);

/** Whether a URL has a filter, so that an empty list does not mean that there are no tenants. */
export const isFiltered = (query: URLSearchParams) => FILTERS.some((name) => query.has(name));

/** Returns the filters and the order in a URL, in a fixed order, so that equal views have equal texts. */
export function viewQuery(query: URLSearchParams): string {
  const view = new URLSearchParams();
  for (const name of [...FILTERS, 'sort']) {
    const value = query.get(name) ?? '';
    if (value !== '') view.set(name, value);
  }
  return view.toString();
}

const FIELDS: Record<string, Filter> = {
  state: { title: 'State', texts: STATES },
  metadata: { title: 'Metadata', placeholder: 'plan=pro' },
};

/** Search, filters, and order for the list of tenants. */
export function TenantFilters({ query }: { query: URLSearchParams }) {
  const metadata = query.get('metadata') ?? '';
  return (
    <FilterBar query={query} search={{ name: 'search', title: 'Search tenants' }} filters={FIELDS}>
      <SortField texts={SORTS} query={query} />
      {metadata !== '' && !isPair(metadata) && (
        <p class="muted small filter-hint" role="status">
          The metadata filters after you type a key, an equals sign, and a value, such as plan=pro.
        </p>
      )}
    </FilterBar>
  );
}
