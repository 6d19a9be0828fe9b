import { useEffect, useState } from 'preact/hooks';
import type { Tenant } from '../../api/api-types.ts';
import { noteChange } from '../../api/change-signals.ts';
import { getTenant } from '../../api/tenants-api.ts';
import { Icon } from '../../ui/icon.tsx';
import { watch } from '../../ui/watch.ts';

const INTERVAL_MS = 5000;

/** Button that appears when someone else changed the memory, and loads the new changes. */
export function NewChanges({ tenant }: { tenant: Tenant }) {
  const [latest, setLatest] = useState(tenant.last_change_at);
  useEffect(() => {
    const look = async (signal: AbortSignal) =>
      setLatest((await getTenant(tenant.id, signal)).last_change_at);
    return watch(look, { intervalMs: INTERVAL_MS, now: false });
  }, [tenant.id]);
  const isNew = latest !== null && (tenant.last_change_at === null || latest > tenant.last_change_at);
  return (
    <span role="status">
      {isNew && (
        <button type="button" class="new-changes" onClick={noteChange}>
          <Icon name="refresh" /> New changes
        </button>
      )}
    </span>
  );
}
