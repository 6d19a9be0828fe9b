import { useState } from 'preact/hooks';
import { sendRequest } from '../../api/api-client.ts';
import type { Key } from '../../api/api-types.ts';
import { isSessionKey, relabelSession } from '../../api/session-state.ts';
import { getKey, type KeyChanges, keyChange } from '../../api/tenants-api.ts';
import { formatTime } from '../../text/format.ts';
import { ActionDialog } from '../../ui/dialog.tsx';
import { mayOverwrite, type NewerValue } from '../../ui/overwrite.tsx';
import { toast } from '../../ui/toasts.ts';
import { ExpiryFields, LabelField } from './changeable-fields.tsx';
import { type Expiry, expiryTime, hasExpiry, mayHaveRights } from './new-key.ts';
import { RightsField, rightsText } from './rights-field.tsx';

interface Props {
  apiKey: Key;
  onClose: () => void;
  /** Shows the change in the list, and closes the dialog. */
  onSaved: () => Promise<void>;
}

/** Edits a key's label, expiry, and rights by path. */
export function EditKeyDialog({ apiKey, onClose, onSaved }: Props) {
  const { id } = apiKey;
  const initial = keyExpiry(apiKey);
  const [label, setLabel] = useState(apiKey.label);
  const [expiry, setExpiry] = useState(initial);
  const [rights, setRights] = useState(apiKey.rights);
  const isExpiryChanged = expiry.expires !== initial.expires || expiry.expiresAt !== initial.expiresAt;
  const areRightsChanged = rightsText(rights) !== rightsText(apiKey.rights);
  const isChanged = label !== apiKey.label || isExpiryChanged || areRightsChanged;
  const changes: KeyChanges = {
    ...(label === apiKey.label ? {} : { label }),
    ...(isExpiryChanged ? { expires_at: expiryTime(expiry) } : {}),
    ...(areRightsChanged ? { rights } : {}),
  };
  const save = async (signal: AbortSignal) => {
    if (!(await mayOverwrite(newerKeyValues(apiKey, await getKey(id, signal), changes)))) return;
    await sendRequest(keyChange(id, changes));
    if (isSessionKey(id)) relabelSession(label);
    toast('Saved the key.');
    await onSaved();
  };
  return (
    <ActionDialog
      title="Edit the key"
      verb="Save"
      isReady={isChanged && hasExpiry(expiry)}
      hasInput={isChanged}
      onClose={onClose}
      request={keyChange(id, changes)}
      onSubmit={save}
    >
      <code class="muted">{id}</code>
      <LabelField
        value={label}
        hint="New changes appear in the history under this label. Earlier changes keep the old label."
        onChange={setLabel}
      />
      <ExpiryFields
        expiry={expiry}
        hint="Takes effect within AUTH_CACHE_SECONDS (10 seconds by default)."
        onChange={(changes) => setExpiry({ ...expiry, ...changes })}
      />
      {mayHaveRights(apiKey) && <RightsField rights={rights} onChange={setRights} />}
    </ActionDialog>
  );
}

/** Returns the fields to save that have other values than the dialog started with. */
function newerKeyValues(started: Key, current: Key, changes: KeyChanges): NewerValue[] {
  const texts = (key: Key) => ({
    label: { name: 'Label', now: key.label || 'none' },
    expires_at: { name: 'Expires', now: key.expires_at === null ? 'never' : formatTime(key.expires_at) },
    rights: { name: 'Rights by path', now: rightsText(key.rights) || 'none' },
  });
  const [was, is] = [texts(started), texts(current)];
  return (['label', 'expires_at', 'rights'] as const)
    .filter((field) => field in changes && is[field].now !== was[field].now)
    .map((field) => is[field]);
}

const keyExpiry = ({ expires_at }: Key): Expiry => ({
  expires: expires_at === null ? '' : 'at',
  expiresAt: expires_at,
});
