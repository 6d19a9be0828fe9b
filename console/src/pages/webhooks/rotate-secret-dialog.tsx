import { useState } from 'preact/hooks';
import { secretRotation, sendForSecret, type Webhook } from '../../api/webhooks-api.ts';
import { FormDialog } from '../../ui/dialog.tsx';
import { Options } from '../../ui/options.tsx';
import { useAction } from '../../ui/use-load.ts';
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
  const action = useAction();
  const request = secretRotation(id, Number.parseInt(overlap, 10));
  const rotate = () =>
    action.run(async () => {
      setSecret(await sendForSecret(request));
      onRotated();
    });
  if (secret !== null)
    return <SecretDialog title="The webhook's new secret" name="secret" secret={secret} onClose={onClose} />;
  return (
    <FormDialog
      title="Rotate the secret?"
      verb="Rotate"
      request={request}
      action={action}
      onClose={onClose}
      onSubmit={rotate}
    >
      <p>
        <code>{id}</code> gets a new secret.
      </p>
      <label>
        The current secret also signs
        <select value={overlap} onChange={(event) => setOverlap(event.currentTarget.value)}>
          <Options texts={OVERLAPS} />
        </select>
        <span class="hint">Time to change the secret on your server.</span>
      </label>
    </FormDialog>
  );
}
