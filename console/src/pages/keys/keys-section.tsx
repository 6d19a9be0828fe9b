import { useState } from 'preact/hooks';
import { canManage } from '../../api/session-state.ts';
import { listKeys } from '../../api/tenants-api.ts';
import { route } from '../../router.ts';
import { Button } from '../../ui/button.tsx';
import { LoadPages } from '../../ui/load.tsx';
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
    'keys',
    (after, signal) => listKeys(JSON.parse(wanted), after, signal),
    [wanted],
    'keys',
  );
  return (
    <>
      <div class="page-head">
        {tenant === undefined ? <h1>Keys</h1> : <h2>Keys</h2>}
        {canManage.value && <Button icon="plus" text="New key" onClick={() => setIsCreating(true)} />}
      </div>
      {tenant === undefined && <KeyFilters query={query} />}
      <LoadPages
        of={pages}
        what="keys"
        empty={tenant === undefined && isFiltered(query) ? 'No matching keys' : 'No keys yet'}
        more="Show more keys"
      >
        {(keys) => <KeysTable keys={keys} hasTenants={tenant === undefined} onChange={pages.reload} />}
      </LoadPages>
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
