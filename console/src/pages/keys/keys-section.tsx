import { useState } from 'preact/hooks';
import { canManage } from '../../api/session-state.ts';
import { listKeys } from '../../api/tenants-api.ts';
import { route } from '../../router.ts';
import { Icon } from '../../ui/icon.tsx';
import { MoreButton } from '../../ui/more-button.tsx';
import { Empty, LoadError, Loading } from '../../ui/status-messages.tsx';
import { useDebounced } from '../../ui/use-debounced.ts';
import { useOpening } from '../../ui/use-opening.ts';
import { usePages } from '../../ui/use-pages.ts';
import { isFiltered, KeyFilters, readKeyQuery } from './key-filters.tsx';
import { KeysTable } from './keys-table.tsx';
import { NewKeyDialog } from './new-key-dialog.tsx';

/** Lists the keys for one tenant, or all keys, with their actions. */
export function KeysSection({ tenant }: { tenant?: string }) {
  const [isCreating, setIsCreating] = useState(false);
  const { query } = route.value;
  useOpening(query, () => setIsCreating(canManage.value));
  // The section for one tenant lists all keys for the tenant.
  const wanted = useDebounced(JSON.stringify(tenant === undefined ? readKeyQuery(query) : { tenant }), 200);
  const pages = usePages(
    async (after, signal) => {
      const { keys, next } = await listKeys(JSON.parse(wanted), after, signal);
      return { items: keys, next };
    },
    [wanted],
    'keys',
  );
  return (
    <>
      <div class="page-head">
        {tenant === undefined ? <h1>Keys</h1> : <h2>Keys</h2>}
        {canManage.value && (
          <button type="button" onClick={() => setIsCreating(true)}>
            <Icon name="plus" /> New key
          </button>
        )}
      </div>
      {tenant === undefined && <KeyFilters query={query} />}
      {pages.error !== undefined && <LoadError error={pages.error} onRetry={pages.reload} />}
      {pages.items === undefined && pages.isLoading && <Loading what="keys" />}
      {pages.items?.length === 0 && (
        <Empty title={tenant === undefined && isFiltered(query) ? 'No matching keys' : 'No keys yet'} />
      )}
      {pages.items !== undefined && pages.items.length > 0 && (
        <KeysTable keys={pages.items} hasTenants={tenant === undefined} onChange={pages.reload} />
      )}
      <MoreButton pages={pages}>Show more keys</MoreButton>
      {isCreating && (
        <NewKeyDialog
          {...(tenant === undefined ? {} : { tenant })}
          onClose={() => setIsCreating(false)}
          onCreated={pages.reload}
        />
      )}
    </>
  );
}
