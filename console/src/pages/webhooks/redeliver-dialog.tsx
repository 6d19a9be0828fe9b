import { useState } from 'preact/hooks';
import { sendEmpty } from '../../api/api-client.ts';
import { redelivery, type Webhook } from '../../api/webhooks-api.ts';
import { formatTime } from '../../text/format.ts';
import { ActionDialog } from '../../ui/dialog.tsx';
import { TimeField } from '../../ui/time-field.tsx';
import { toast } from '../../ui/toasts.ts';

interface Props {
  webhook: Webhook;
  onClose: () => void;
  onDone: () => void;
}

/** Delivers the changes since a time again, or skips the changes before it. */
export function RedeliverDialog({ webhook: { id, enabled }, onClose, onDone }: Props) {
  const [since, setSince] = useState<string | null>(null);
  const redeliver = async () => {
    if (since === null) return;
    await sendEmpty(redelivery(id, since));
    toast(`The webhook continues with the first change since ${formatTime(since)}.`);
    onClose();
    onDone();
  };
  return (
    <ActionDialog
      title="Deliver again from a time"
      verb="Deliver again"
      isReady={since !== null}
      request={since === null ? undefined : redelivery(id, since)}
      onClose={onClose}
      onSubmit={redeliver}
    >
      <p>
        The webhook continues with the first change since this time. To skip messages, choose a time after
        them.
      </p>
      <TimeField label="Since" isRequired value={since} onChange={setSince} />
      {!enabled && (
        <p class="notice warning">The webhook is disabled, and sends nothing until you enable it.</p>
      )}
    </ActionDialog>
  );
}
