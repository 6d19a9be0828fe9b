import { useState } from 'preact/hooks';
import { canManageFleet, canWrite } from '../api/session.ts';
import { createTenant, listTenants } from '../api/tenants.ts';
import type { Tenant } from '../api/types.ts';
import { goTo, hrefOf, replaceQuery, route } from '../router.ts';
import { formatBytes, formatNumber } from '../text/format.ts';
import { FormDialog } from '../ui/dialog.tsx';
import { Icon } from '../ui/icon.tsx';
import { Badge, Time } from '../ui/inline.tsx';
import { Empty, LoadError, Loading } from '../ui/messages.tsx';
import { Name } from '../ui/name.tsx';
import { Options } from '../ui/options.tsx';
import { UsageBar } from '../ui/usage-bar.tsx';
import { useDebounced } from '../ui/use-debounced.ts';
import { useAction } from '../ui/use-load.ts';
import { usePages } from '../ui/use-pages.ts';
import { BulkActions } from './tenants/bulk-actions.tsx';
import { type Selection, useSelection } from './tenants/use-selection.ts';

const SORTS = {
  id: 'ID',
  changed: 'Last change',
  used: 'Fullest',
  files: 'Most files',
  bytes: 'Largest',
};

const STATES = { '': 'All tenants', active: 'Active', suspended: 'Suspended', 'near-limit': 'Near a limit' };
/** Percentage of a limit, as on the overview page. */
const NEAR_LIMIT = 90;

function filterOf(state: string) {
  if (state === 'near-limit') return { near_limit: NEAR_LIMIT };
  return state === 'active' || state === 'suspended' ? ({ status: state } as const) : {};
}

export function TenantsPage() {
  const { query } = route.value;
  const search = query.get('search') ?? '';
  const sort = query.get('sort') ?? 'id';
  const state = query.get('state') ?? '';
  const settledSearch = useDebounced(search, 200);
  const pages = usePages(
    async (after, signal) => {
      const { tenants, next } = await listTenants(
        { ...filterOf(state), search: settledSearch, sort, after },
        signal,
      );
      return { items: tenants, next };
    },
    [settledSearch, sort, state],
  );
  const [isCreating, setIsCreating] = useState(false);
  const selection = useSelection(pages.items ?? []);
  return (
    <main>
      <div class="page-head">
        <h1>Tenants</h1>
        {canManageFleet.value && (
          <button type="button" class="primary" onClick={() => setIsCreating(true)}>
            <Icon name="plus" /> New tenant
          </button>
        )}
      </div>
      <div class="filters">
        <label class="search-field">
          <span class="visually-hidden">Search tenants</span>
          <Icon name="search" />
          <input
            type="search"
            placeholder="Search tenants"
            value={search}
            onInput={(event) => replaceQuery({ search: event.currentTarget.value })}
          />
        </label>
        <label>
          <span class="visually-hidden">State</span>
          <select value={state} onChange={(event) => replaceQuery({ state: event.currentTarget.value })}>
            <Options texts={STATES} />
          </select>
        </label>
        <label class="inline">
          Sort by
          <select value={sort} onChange={(event) => replaceQuery({ sort: event.currentTarget.value })}>
            <Options texts={SORTS} />
          </select>
        </label>
      </div>
      {selection.tenants.length > 0 && (
        <BulkActions
          tenants={selection.tenants}
          onSelectAll={() => selection.set(pages.items ?? [])}
          onClear={() => selection.set([])}
          onDone={() => {
            selection.set([]);
            pages.reload();
          }}
        />
      )}
      {pages.error !== undefined && <LoadError error={pages.error} onRetry={pages.reload} />}
      {pages.items !== undefined && (
        <TenantTable
          tenants={pages.items}
          isFiltered={settledSearch !== '' || state !== ''}
          selection={selection}
        />
      )}
      {pages.isLoading && pages.items === undefined && <Loading what="tenants" />}
      {pages.more && (
        <button type="button" class="more" onClick={pages.more} disabled={pages.isLoading}>
          Show more tenants
        </button>
      )}
      {isCreating && <NewTenantDialog onClose={() => setIsCreating(false)} />}
    </main>
  );
}

interface TableProps {
  tenants: Tenant[];
  isFiltered: boolean;
  selection: Selection;
}

function TenantTable({ tenants, isFiltered, selection }: TableProps) {
  if (tenants.length === 0) {
    return isFiltered ? (
      <Empty title="No matching tenants" />
    ) : (
      <Empty title="No tenants yet">
        <p>A tenant is one isolated memory: of a customer, a user, or an agent.</p>
      </Empty>
    );
  }
  return (
    <div class="table-scroll">
      <table class="tenants">
        <thead>
          <tr>
            <th scope="col">Tenant</th>
            <th scope="col">Status</th>
            <th scope="col">Files</th>
            <th scope="col">Size</th>
            <th scope="col">Last change</th>
          </tr>
        </thead>
        <tbody>
          {tenants.map((tenant) => (
            <tr key={tenant.id}>
              <th scope="row">
                <div class="selectable">
                  {canWrite.value && (
                    <input
                      type="checkbox"
                      aria-label={`Select ${tenant.id}`}
                      checked={selection.has(tenant.id)}
                      onChange={() => selection.toggle(tenant.id)}
                    />
                  )}
                  <TenantName tenant={tenant} />
                </div>
              </th>
              <td>
                <StatusBadge tenant={tenant} />
              </td>
              <td>
                <UsageBar
                  label="Files"
                  used={tenant.files}
                  limit={tenant.effective.max_files}
                  format={formatNumber}
                />
              </td>
              <td>
                <UsageBar
                  label="Size"
                  used={tenant.bytes}
                  limit={tenant.effective.max_bytes}
                  format={formatBytes}
                />
              </td>
              <td class="muted">
                {tenant.last_change_at === null ? 'never' : <Time value={tenant.last_change_at} isAge />}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

/** Link with the name of a tenant. The ID appears below it if the name differs. */
function TenantName({ tenant: { id, name, description } }: { tenant: Tenant }) {
  return (
    <div class="tenant-name">
      <a class="name-link" href={hrefOf(['tenants', id])}>
        <Name text={name} />
      </a>
      <About parts={[name === id ? '' : id, description]} />
    </div>
  );
}

/** User-supplied name and description of a tenant on one line; hidden if empty. */
export function About({ parts }: { parts: string[] }) {
  const text = parts.filter(Boolean).join(' · ');
  if (text === '') return null;
  return (
    <span class="about muted small">
      <Name text={text} />
    </span>
  );
}

export function StatusBadge({ tenant: { status, archived_at } }: { tenant: Tenant }) {
  if (status === 'active' && archived_at !== null) return <Badge kind="neutral">archived</Badge>;
  return <Badge kind={status === 'active' ? 'good' : 'bad'}>{status}</Badge>;
}

function NewTenantDialog({ onClose }: { onClose: () => void }) {
  const [id, setId] = useState('');
  const action = useAction();
  const create = () =>
    action.run(async () => {
      await createTenant(id);
      goTo(hrefOf(['tenants', id, 'settings']));
    });
  return (
    <FormDialog
      title="New tenant"
      verb="Create"
      hasInput={id !== ''}
      onClose={onClose}
      action={action}
      onSubmit={create}
    >
      <label>
        ID
        <input required autofocus value={id} onInput={(event) => setId(event.currentTarget.value)} />
        <span class="hint">Used in keys and in the X-Tenant-Id header.</span>
      </label>
    </FormDialog>
  );
}
