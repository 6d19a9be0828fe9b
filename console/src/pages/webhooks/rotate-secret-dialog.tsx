import { useState } from 'preact/hooks';
import { secretRotation, sendForSecret, type Webhook } from '../../api/webhooks-api.ts';
import { ActionDialog } from '../../ui/dialog.tsx';
import { SelectField } from '../../ui/fields.tsx';
import { OVERLAPS } from '../keys/rotate-dialog.tsx';
import { SecretDialog } from '../keys/secret-dialog.tsx';

interface Props {
  webhook: Webhook;
  onClose: () => void;
  onRotated: () => void;
}

/** Rotates a webhook's secret, and shows the new secret. */
export function RotateSecretDialog({ webhook: { id }, onClose, onRotated }: Props) {
  const [overlap, setOverlap] = useState('86400s');
  const [secret, setSecret] = useState<string | null>(null);
  const request = secretRotation(id, Number.parseInt(overlap, 10));
  const rotate = async () => {
    setSecret(await sendForSecret(request));
    onRotated();
  };
  if (secret !== null)
    return <SecretDialog title="The webhook's new secret" name="secret" secret={secret} onClose={onClose} />;
  return (
    <ActionDialog
      title="Rotate the secret?"
      verb="Rotate"
      request={request}
      onClose={onClose}
      onSubmit={rotate}
    >
      <p>
        <code>{id}</code> gets a new secret.
      </p>
      <SelectField
        label="The current secret also signs"
        hint="Time to change the secret on your server."
        texts={OVERLAPS}
        value={overlap}
        onChange={setOverlap}
      />
    </ActionDialog>
  );
}
