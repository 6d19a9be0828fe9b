import { useState } from 'preact/hooks';
import { canManage, canManageFleet } from '../../api/session-state.ts';
import { listWebhooks } from '../../api/webhooks-api.ts';
import { Icon } from '../../ui/icon.tsx';
import { Empty, LoadError, Loading } from '../../ui/status-messages.tsx';
import { useLoad } from '../../ui/use-load.ts';
import { NewWebhookDialog } from './new-webhook-dialog.tsx';
import { WebhookItem } from './webhook-item.tsx';

/** Number of webhooks that are shown, and then shown in addition. */
const STEP = 100;

/**
 * Lists webhooks with their actions.
 *
 * @param tenant null for the webhooks for all tenants, and all single tenants' webhooks
 */
export function WebhooksSection({ tenant }: { tenant: string | null }) {
  const [isCreating, setIsCreating] = useState(false);
  const [shown, setShown] = useState(STEP);
  const { data, error, reload } = useLoad((signal) => listWebhooks(tenant, signal), [tenant], 'webhooks');
  const mayCreate = tenant === null ? canManageFleet.value : canManage.value;
  return (
    <>
      <div class="page-head">
        {tenant === null ? <h1>Webhooks</h1> : <h2>Webhooks</h2>}
        {mayCreate && (
          <button type="button" onClick={() => setIsCreating(true)}>
            <Icon name="plus" /> New webhook
          </button>
        )}
      </div>
      <p class="muted small">
        {tenant === null
          ? "Servers that receive changes. Create a single tenant's webhook in the tenant's settings."
          : 'Servers that receive the changes to this memory.'}
      </p>
      {error !== undefined && <LoadError error={error} onRetry={reload} />}
      {data === undefined && error === undefined && <Loading what="webhooks" />}
      {data?.length === 0 && <Empty title="No webhooks" />}
      {data !== undefined && data.length > 0 && (
        <ul class="audit-events webhooks">
          {data.slice(0, shown).map((webhook) => (
            <WebhookItem key={webhook.id} webhook={webhook} hasTenant={tenant === null} onChange={reload} />
          ))}
        </ul>
      )}
      {data !== undefined && data.length > shown && (
        <button type="button" class="more" onClick={() => setShown(shown + STEP)}>
          Show more webhooks
        </button>
      )}
      {isCreating && (
        <NewWebhookDialog tenant={tenant} onClose={() => setIsCreating(false)} onCreated={reload} />
      )}
    </>
  );
}
