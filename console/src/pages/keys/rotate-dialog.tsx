import { useState } from 'preact/hooks';
import { sendRequest } from '../../api/api-client.ts';
import type { Key } from '../../api/api-types.ts';
import { isSessionKey, storeKey } from '../../api/session-state.ts';
import { getKey, type KeyWithSecret, rotation } from '../../api/tenants-api.ts';
import { formatTime } from '../../text/format.ts';
import { ActionDialog } from '../../ui/dialog.tsx';
import { SelectField } from '../../ui/fields.tsx';
import { Name } from '../../ui/name.tsx';
import { Segmented } from '../../ui/segmented.tsx';
import { useLoad } from '../../ui/use-load.ts';
import { SecretDialog } from './secret-dialog.tsx';

/**
 * Periods in seconds, up to the service's maximum. The suffix `s` preserves the order, because JavaScript sorts integer
 * property names.
 */
export const OVERLAPS = {
  '86400s': 'For a day',
  '3600s': 'For an hour',
  '604800s': 'For a week',
  '0s': 'Not at all',
};

type Reason = 'routine' | 'leaked';
const REASONS = [
  ['routine', 'Routine'],
  ['leaked', 'The secret leaked'],
] as const;

interface Props {
  apiKey: Key;
  onClose: () => void;
  onRotated: () => void;
}

/** Rotates a key, and shows its new secret. */
export function RotateDialog({ apiKey, onClose, onRotated }: Props) {
  const { id, label } = apiKey;
  const [reason, setReason] = useState<Reason>('routine');
  const [overlap, setOverlap] = useState('86400s');
  const [secret, setSecret] = useState<string | null>(null);
  const { data } = useLoad((signal) => getKey(id, signal), [id]);
  const isOwn = isSessionKey(id);
  const isLeaked = reason === 'leaked';
  const request = rotation(id, isLeaked ? 0 : Number.parseInt(overlap, 10));
  const rotate = async () => {
    const { key } = await sendRequest<KeyWithSecret>(request);
    // Without this, the session would end when the previous secret expires.
    if (isOwn) storeKey(key);
    setSecret(key);
    onRotated();
  };
  if (secret !== null) {
    return (
      <SecretDialog title="The new secret of the key" apiKey={apiKey} secret={secret} onClose={onClose}>
        {isOwn && <p>You are signed in with this key: this tab continues with the new secret.</p>}
      </SecretDialog>
    );
  }
  return (
    <ActionDialog title="Rotate the key?" verb="Rotate" request={request} onClose={onClose} onSubmit={rotate}>
      {label !== '' && <Name text={label} />}
      <p>
        <code>{id}</code> gets a new secret. Its label and its rights stay.
      </p>
      <Segmented label="Reason" options={REASONS} value={reason} onChange={setReason} />
      {isLeaked ? (
        <p>
          The current secret, and earlier ones, stop working within AUTH_CACHE_SECONDS (10 seconds by
          default).
        </p>
      ) : (
        <SelectField
          label="The current secret still works"
          hint="Time to distribute the new secret to the key's users."
          texts={OVERLAPS}
          value={overlap}
          onChange={setOverlap}
        />
      )}
      {reason === 'routine' && data?.previous && (
        <p class="notice warning">
          The secret before the last rotation works until {formatTime(data.previous.expires_at)}
          {data.previous.last_used_at !== null &&
            `, and was last used ${formatTime(data.previous.last_used_at)}`}
          . The rotation ends it now.
        </p>
      )}
    </ActionDialog>
  );
}
