import { listVersions } from '../../api/history-api.ts';
import { tenantPath } from '../../api/tenants-api.ts';
import { useChanges } from '../../api/use-changes.ts';
import { toHref } from '../../router.ts';
import { Icon } from '../../ui/icon.tsx';
import { NameLink } from '../../ui/name.tsx';
import { useLoad } from '../../ui/use-load.ts';

interface Props {
  tenant: string;
  /** ID of the key to wait for; by default, any actor. */
  by?: string;
}

/** Time between two looks if a proxy holds back the change feed. */
const INTERVAL_MS = 5000;

/** Waits for the first write to a memory, and then links to the file. */
export function FirstWrite({ tenant, by }: Props) {
  const { data: path = null, reload } = useLoad(
    async (signal) => {
      const { versions } = await listVersions(tenant, { limit: 1, ...(by && { by }) }, signal);
      return versions[0]?.path ?? null;
    },
    [tenant, by],
    undefined,
    (written) => !written && INTERVAL_MS,
  );
  const isWaiting = path === null;
  useChanges(isWaiting ? tenantPath(tenant, '/changes') : null, { restMs: 500, onChange: reload });
  return (
    <p class={isWaiting ? 'row muted' : 'row notice good'} role="status">
      {isWaiting ? (
        <>
          <span class="spinner" aria-hidden="true" /> Waiting for the first write…
        </>
      ) : (
        <>
          <Icon name="check" /> The agent wrote
          <NameLink href={toHref(['tenants', tenant], { path })} text={path} keepsEnd />
        </>
      )}
    </p>
  );
}
