import { useLayoutEffect, useState } from 'preact/hooks';
import type { Tenant } from '../../api/api-types.ts';
import { canManageFleet, canWrite } from '../../api/session-state.ts';
import { listTenants } from '../../api/tenants-api.ts';
import { route, toHref } from '../../router.ts';
import { count, formatBytes, formatNumber } from '../../text/format.ts';
import { Button } from '../../ui/button.tsx';
import { Time } from '../../ui/inline.tsx';
import { lazy } from '../../ui/lazy.tsx';
import { LoadPages } from '../../ui/load.tsx';
import { NameLink } from '../../ui/name.tsx';
import { UsageBar } from '../../ui/usage-bar.tsx';
import { useDebounced } from '../../ui/use-debounced.ts';
import { useOpening } from '../../ui/use-opening.ts';
import { usePages } from '../../ui/use-pages.ts';
import { About, StatusBadge } from './about.tsx';
import { finishedBulks } from './bulk/open-bulk.tsx';
import { FirstSteps } from './first-steps.tsx';
import { NewTenantDialog } from './new-tenant-dialog.tsx';
import { SavedViews } from './saved-views.tsx';
import { isFiltered, readTenantQuery, TenantFilters, viewQuery } from './tenant-filters.tsx';
import { type Selection, useSelection } from './use-selection.ts';

const BulkActions = lazy('the actions', async () => (await import('./bulk-actions.tsx')).BulkActions);

export function TenantsPage() {
  const { query } = route.value;
  const view = useDebounced(viewQuery(query), 200);
  const wanted = readTenantQuery(new URLSearchParams(view));
  const pages = usePages(
    'tenants',
    (after, signal) => {
      const sort = new URLSearchParams(view).get('sort') ?? 'id';
      return listTenants({ ...wanted, sort, after, totals: after === null }, signal);
    },
    [view, finishedBulks.value],
    'tenants',
  );
  const totals = pages.first?.totals ?? null;
  const selection = useSelection(pages.items ?? [], view);
  // A layout effect clears the selection before the next click can extend it.
  useLayoutEffect(() => selection.set([]), [finishedBulks.value]);
  const [isCreating, setIsCreating] = useState(false);
  const create = () => setIsCreating(canManageFleet.value);
  useOpening(query, create);
  /** Whether there are no tenants yet. */
  const isNew = pages.items?.length === 0 && !isFiltered(query);
  return (
    <main>
      <div class="page-head">
        <h1>Tenants</h1>
        {canManageFleet.value && <Button icon="plus" text="New tenant" class="primary" onClick={create} />}
      </div>
      {!isNew && <TenantFilters query={query} />}
      {!isNew && <SavedViews query={query} />}
      {totals !== null && pages.items !== undefined && !isNew && (
        <p class="tenant-totals muted small" role="status">
          {count(totals.tenants, 'tenant')} · {count(totals.files, 'file')} · {formatBytes(totals.bytes)}
        </p>
      )}
      {selection.tenants.length > 0 && (
        <BulkActions selection={selection} listed={pages.items ?? []} filter={wanted} totals={totals} />
      )}
      <LoadPages
        of={pages}
        what="tenants"
        empty={isNew ? <FirstSteps onCreate={create} /> : 'No matching tenants'}
        more="Show more tenants"
      >
        {(tenants) => <TenantTable tenants={tenants} selection={selection} />}
      </LoadPages>
      {isCreating && <NewTenantDialog onClose={() => setIsCreating(false)} />}
    </main>
  );
}

function TenantTable({ tenants, selection }: { tenants: Tenant[]; selection: Selection }) {
  const areAll = tenants.every(({ id }) => selection.has(id));
  return (
    <div class="table-scroll">
      <table class="tenants">
        <thead>
          <tr>
            <th scope="col">
              <div class="row selectable">
                {canWrite.value && (
                  <input
                    type="checkbox"
                    aria-label="Select all shown"
                    checked={areAll}
                    indeterminate={!areAll && selection.tenants.length > 0}
                    onChange={() => selection.set(areAll ? [] : tenants)}
                  />
                )}
                Tenant
              </div>
            </th>
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
                <div class="row selectable">
                  {canWrite.value && (
                    <input
                      type="checkbox"
                      aria-label={`Select ${tenant.id}`}
                      checked={selection.has(tenant.id)}
                      onClick={(event) => selection.toggle(tenant.id, event.shiftKey)}
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

/** Link with a tenant's name. The ID and the metadata appear below the link. */
function TenantName({ tenant: { id, name, description, metadata } }: { tenant: Tenant }) {
  const pairs = Object.entries(metadata).map(([key, value]) => `${key}=${value}`);
  return (
    <div class="tenant-name">
      <NameLink href={toHref(['tenants', id])} text={name} />
      <About parts={[name === id ? '' : id, description, pairs.join(', ')]} />
    </div>
  );
}
