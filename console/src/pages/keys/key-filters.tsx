import type { KeyQuery } from '../../api/tenants-api.ts';
import { replaceQuery } from '../../router.ts';
import { Icon } from '../../ui/icon.tsx';
import { Options } from '../../ui/options.tsx';

const CHOICES = {
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
  sort: {
    title: 'Order',
    texts: { '': 'Newest first', used: 'Longest unused first', expires: 'Next to expire first' },
  },
} as const;

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
  ['tenant', 'search', 'kind', 'status', 'use'].some((name) => query.has(name));

/** Search, filters, and order for the list of keys. The URL holds their values. */
export function KeyFilters({ query }: { query: URLSearchParams }) {
  const texts = { search: 'Label or ID', tenant: 'Tenant' };
  return (
    <div class="filters key-filters">
      {Object.entries(texts).map(([name, title]) => (
        <label key={name} class={name === 'search' ? 'search-field' : ''}>
          <span class="visually-hidden">{title}</span>
          {name === 'search' && <Icon name="search" />}
          <input
            type="search"
            placeholder={title}
            value={query.get(name) ?? ''}
            onInput={(event) => replaceQuery({ [name]: event.currentTarget.value })}
          />
        </label>
      ))}
      {Object.entries(CHOICES).map(([name, { title, texts: options }]) => (
        <label key={name}>
          <span class="visually-hidden">{title}</span>
          <select
            value={query.get(name) ?? ''}
            onChange={(event) => replaceQuery({ [name]: event.currentTarget.value })}
          >
            <Options texts={options} />
          </select>
        </label>
      ))}
    </div>
  );
}
