import { useState } from 'preact/hooks';
import { sendRequest } from '../../api/api-client.ts';
import type { Key } from '../../api/api-types.ts';
import { isSessionKey, storeKey } from '../../api/session-state.ts';
import { getKey, type KeyWithSecret, rotation } from '../../api/tenants-api.ts';
import { formatTime } from '../../text/format.ts';
import { FormDialog } from '../../ui/dialog.tsx';
import { Name } from '../../ui/name.tsx';
import { Options } from '../../ui/options.tsx';
import { Segmented } from '../../ui/segmented.tsx';
import { useAction, useLoad } from '../../ui/use-load.ts';
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
  const action = useAction();
  const isOwn = isSessionKey(id);
  const isLeaked = reason === 'leaked';
  const request = rotation(id, isLeaked ? 0 : Number.parseInt(overlap, 10));
  const rotate = () =>
    action.run(async () => {
      const { key } = await sendRequest<KeyWithSecret>(request);
      // Without this, the session would end when the previous secret expires.
      if (isOwn) storeKey(key);
      setSecret(key);
      onRotated();
    });
  if (secret !== null) {
    return (
      <SecretDialog title="The new secret of the key" apiKey={apiKey} secret={secret} onClose={onClose}>
        {isOwn && <p>You are signed in with this key: this tab continues with the new secret.</p>}
      </SecretDialog>
    );
  }
  return (
    <FormDialog
      title="Rotate the key?"
      verb="Rotate"
      request={request}
      action={action}
      onClose={onClose}
      onSubmit={rotate}
    >
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
        <label>
          The current secret still works
          <select value={overlap} onChange={(event) => setOverlap(event.currentTarget.value)}>
            <Options texts={OVERLAPS} />
          </select>
          <span class="hint">Time to distribute the new secret to the key's users.</span>
        </label>
      )}
      {reason === 'routine' && data?.previous && (
        <p class="notice warning">
          The secret before the last rotation works until {formatTime(data.previous.expires_at)}
          {data.previous.last_used_at !== null &&
            `, and was last used ${formatTime(data.previous.last_used_at)}`}
          . The rotation ends it now.
        </p>
      )}
    </FormDialog>
  );
}
