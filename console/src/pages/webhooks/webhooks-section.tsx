import { useEffect, useState } from 'preact/hooks';
import { canManage, canManageFleet } from '../../api/session-state.ts';
import { type EventType, listWebhooks } from '../../api/webhooks-api.ts';
import { replaceQuery, route } from '../../router.ts';
import { Button } from '../../ui/button.tsx';
import { Load } from '../../ui/load.tsx';
import { Empty } from '../../ui/status-messages.tsx';
import { useLoad } from '../../ui/use-load.ts';
import { NewWebhookDialog } from './new-webhook-dialog.tsx';
import { WebhookItem } from './webhook-item.tsx';
import { ALERTS } from './webhook-texts.ts';

/** Number of webhooks that are shown, and then shown in addition. */
const STEP = 100;

/** Events that a new webhook's dialog shows as chosen; null for all. */
interface NewTypes {
  types: EventType[] | null;
}

/** Whether the overview's link opened the page. */
const isAlertsLink = () => route.value.query.get('new') === 'alerts';

/**
 * Lists webhooks with their actions.
 *
 * @param tenant null for the webhooks for all tenants, and all single tenants' webhooks
 */
export function WebhooksSection({ tenant = null }: { tenant?: string | null }) {
  const [creating, setCreating] = useState<NewTypes | null>(isAlertsLink() ? { types: ALERTS } : null);
  // A reload must not open the dialog again.
  useEffect(() => {
    if (isAlertsLink()) void replaceQuery({ new: null });
  }, []);
  const [shown, setShown] = useState(STEP);
  const webhooks = useLoad((signal) => listWebhooks(tenant, signal), [tenant], 'webhooks');
  const mayCreate = tenant === null ? canManageFleet.value : canManage.value;
  return (
    <>
      <div class="page-head">
        {tenant === null ? <h1>Webhooks</h1> : <h2>Webhooks</h2>}
        {mayCreate && <Button icon="plus" text="New webhook" onClick={() => setCreating({ types: null })} />}
      </div>
      <p class="muted small">
        {tenant === null
          ? "Servers that receive changes. Create a single tenant's webhook in the tenant's settings."
          : 'Servers that receive the changes to this memory.'}
      </p>
      <Load of={webhooks} what="webhooks">
        {(all) =>
          all.length === 0 ? (
            <Empty title="No webhooks" />
          ) : (
            <>
              <ul class="surface audit-events webhooks">
                {all.slice(0, shown).map((webhook) => (
                  <WebhookItem
                    key={webhook.id}
                    webhook={webhook}
                    hasTenant={tenant === null}
                    onChange={webhooks.reload}
                  />
                ))}
              </ul>
              {all.length > shown && (
                <Button text="Show more webhooks" class="more" onClick={() => setShown(shown + STEP)} />
              )}
            </>
          )
        }
      </Load>
      {mayCreate && creating !== null && (
        <NewWebhookDialog
          tenant={tenant}
          initialTypes={creating.types}
          onClose={() => setCreating(null)}
          onCreated={webhooks.reload}
        />
      )}
    </>
  );
}
