import { useState } from 'preact/hooks';
import { sendEmpty } from '../../api/api-client.ts';
import type { Key } from '../../api/api-types.ts';
import { revocation } from '../../api/tenants-api.ts';
import { count } from '../../text/format.ts';
import { ActionDialog } from '../../ui/dialog.tsx';
import { CheckField } from '../../ui/fields.tsx';
import { KeyName } from './key-name.tsx';

interface Props {
  keys: Key[];
  onClose: () => void;
  onDone: () => void;
}

/** Revokes an incident's keys, except the unselected ones. */
export function RevokeDialog({ keys, onClose, onDone }: Props) {
  const [left, setLeft] = useState<readonly string[]>([]);
  const chosen = keys.filter(({ id }) => !left.includes(id));
  const revoke = async () => {
    for (const { id } of chosen) await sendEmpty(revocation(id));
    onDone();
    onClose();
  };
  return (
    <ActionDialog
      title="Revoke the keys?"
      verb={`Revoke ${count(chosen.length, 'key')}`}
      isDangerous
      isReady={chosen.length > 0}
      request={chosen.map(({ id }) => revocation(id))}
      onClose={onClose}
      onSubmit={revoke}
    >
      <p>The keys stop working within AUTH_CACHE_SECONDS (10 seconds by default). This cannot be undone.</p>
      {keys.map((key) => (
        <CheckField
          key={key.id}
          checked={!left.includes(key.id)}
          onChange={(checked) => setLeft(checked ? left.filter((id) => id !== key.id) : [...left, key.id])}
        >
          <span>
            <KeyName apiKey={key} />
          </span>
        </CheckField>
      ))}
    </ActionDialog>
  );
}
