import { useEffect, useState } from 'preact/hooks';
import { changed } from '../../api/changes.ts';
import { getTenant } from '../../api/tenants.ts';
import type { Tenant } from '../../api/types.ts';
import { Icon } from '../../ui/icon.tsx';

const INTERVAL_MS = 5000;

/** Watches whether others change a memory while it is in view, and offers to show it as it is then. */
export function NewChanges({ tenant }: { tenant: Tenant }) {
  const [latest, setLatest] = useState(tenant.last_change_at);
  useEffect(() => {
    const controller = new AbortController();
    const look = async () => {
      if (document.hidden) return;
      try {
        setLatest((await getTenant(tenant.id, controller.signal)).last_change_at);
      } catch {
        // Whoever looks next time will see: this is not what the person asked for.
      }
    };
    const timer = setInterval(look, INTERVAL_MS);
    document.addEventListener('visibilitychange', look);
    return () => {
      controller.abort();
      clearInterval(timer);
      document.removeEventListener('visibilitychange', look);
    };
  }, [tenant.id]);
  const isNew = latest !== null && (tenant.last_change_at === null || latest > tenant.last_change_at);
  return (
    <span role="status">
      {isNew && (
        <button type="button" class="new-changes" onClick={changed}>
          <Icon name="refresh" /> New changes
        </button>
      )}
    </span>
  );
}
