import { useState } from 'preact/hooks';
import { type ApiRequest, sendEmpty } from '../../api/api-client.ts';
import { canManage } from '../../api/session-state.ts';
import {
  testWebhook,
  type Webhook,
  type WebhookTest,
  webhookDeletion,
  webhookSwitch,
} from '../../api/webhooks-api.ts';
import { formatNumber } from '../../text/format.ts';
import { visibleText } from '../../text/visible.tsx';
import { confirm } from '../../ui/confirm.tsx';
import { Badge, Time } from '../../ui/inline.tsx';
import { Name } from '../../ui/name.tsx';
import { ErrorText } from '../../ui/status-messages.tsx';
import { TenantLink } from '../../ui/tenant-link.tsx';
import { toast } from '../../ui/toasts.ts';
import { useAction } from '../../ui/use-load.ts';
import { DeliveryLog } from './delivery-log.tsx';
import { RedeliverDialog } from './redeliver-dialog.tsx';
import { RotateSecretDialog } from './rotate-secret-dialog.tsx';
import { DISABLED_BECAUSE, messagesText, resultText, urlText } from './webhook-texts.ts';

interface Props {
  webhook: Webhook;
  /** Whether to show whose changes the webhook sends. */
  hasTenant: boolean;
  onChange: () => void;
}

/** A webhook with its state, its actions, and on request its deliveries. */
export function WebhookItem({ webhook, hasTenant, onChange }: Props) {
  const { id, tenant, url, enabled } = webhook;
  const [dialog, setDialog] = useState<'rotate' | 'redeliver' | null>(null);
  const [hasLog, setHasLog] = useState(false);
  const [round, setRound] = useState(0);
  const [tested, setTested] = useState<WebhookTest | null>(null);
  const action = useAction();
  const reload = () => {
    setRound((n) => n + 1);
    onChange();
  };
  const test = () =>
    action.run(async (signal) => {
      setTested(null);
      setTested(await testWebhook(id, signal));
      reload();
    });
  const change = (request: ApiRequest, done: string) =>
    action.run(async () => {
      await sendEmpty(request);
      setTested(null);
      toast(done);
      reload();
    });
  const toggle = async () => {
    const request = webhookSwitch(id, !enabled);
    if (enabled && !(await confirm({ ...DISABLE, request }))) return;
    await change(request, enabled ? 'Disabled the webhook.' : 'Enabled the webhook.');
  };
  const remove = async () => {
    const request = webhookDeletion(id);
    if (await confirm({ ...DELETE, request })) await change(request, 'Deleted the webhook.');
  };
  const button = (label: string, onClick: () => void) => (
    // A disabled button would lose the focus.
    <button type="button" onClick={() => action.isRunning || onClick()}>
      {label}
      <span class="visually-hidden"> {id}</span>
    </button>
  );
  return (
    <li>
      <p class="audit-line">
        <strong class="name-link">
          <Name text={urlText(url)} />
        </strong>
        <State {...webhook} />
        {hasTenant && tenant === null && <em>all tenants</em>}
        {hasTenant && tenant !== null && <TenantLink id={tenant} />}
      </p>
      <p class="muted small audit-line">
        {visibleText(messagesText(webhook))} · <code>{id}</code>
      </p>
      <Details {...webhook} />
      <div class="buttons">
        {canManage.value && (
          <>
            {button('Test', test)}
            {button(enabled ? 'Disable…' : 'Enable', toggle)}
            {enabled &&
              webhook.failing_since !== null &&
              button('Try now', () => change(webhookSwitch(id, true), 'The webhook tries again now.'))}
            {button('Rotate the secret…', () => setDialog('rotate'))}
            {button('Deliver again…', () => setDialog('redeliver'))}
            {button('Delete…', remove)}
          </>
        )}
        <button type="button" aria-expanded={hasLog} onClick={() => setHasLog(!hasLog)}>
          Deliveries<span class="visually-hidden"> {id}</span>
        </button>
      </div>
      <ErrorText message={action.error} />
      <p class="small" role="status">
        {tested && `Test: ${resultText(tested)} (${formatNumber(tested.duration_ms)} ms)`}
      </p>
      {hasLog && <DeliveryLog id={id} round={round} />}
      {dialog === 'rotate' && (
        <RotateSecretDialog webhook={webhook} onClose={() => setDialog(null)} onRotated={onChange} />
      )}
      {dialog === 'redeliver' && (
        <RedeliverDialog webhook={webhook} onClose={() => setDialog(null)} onDone={reload} />
      )}
    </li>
  );
}

const DISABLE = {
  title: 'Disable the webhook?',
  text: 'It sends no messages. When you enable it, it continues after the last accepted message.',
  verb: 'Disable',
};
const DELETE = {
  title: 'Delete the webhook?',
  text: 'Its server receives no more messages. This cannot be undone.',
  verb: 'Delete',
  isDangerous: true,
};

function State({ enabled, failing_since }: Webhook) {
  if (!enabled) return <Badge kind="neutral">disabled</Badge>;
  return failing_since === null ? null : <Badge kind="bad">failing</Badge>;
}

/** Says why a webhook sends nothing, whether changes were lost, and until when an old secret signs. */
function Details({ enabled, ...webhook }: Webhook) {
  const { disabled_reason, failing_since, next_attempt_at, gap_at, previous_secret_until } = webhook;
  return (
    <div class="small">
      {disabled_reason !== null && disabled_reason !== 'by_operator' && (
        <p>{DISABLED_BECAUSE[disabled_reason]}</p>
      )}
      {enabled && failing_since !== null && (
        <p>
          Failing since <Time value={failing_since} />
        </p>
      )}
      {next_attempt_at !== null && (
        <p>
          Next attempt: <Time value={next_attempt_at} />
        </p>
      )}
      {gap_at !== null && (
        <p>
          Changes were lost at <Time value={gap_at} />, because they were no longer in the history.
        </p>
      )}
      {previous_secret_until !== null && Date.parse(previous_secret_until) > Date.now() && (
        <p class="muted">
          The old secret also signs until <Time value={previous_secret_until} />
        </p>
      )}
    </div>
  );
}
