import { useState } from 'preact/hooks';
import { sendRequest } from '../../api/api-client.ts';
import { noteChange } from '../../api/change-signals.ts';
import { type Acceptance, acceptance } from '../../api/sharing-api.ts';
import { ActionDialog } from '../../ui/dialog.tsx';
import { TextField } from '../../ui/fields.tsx';
import { toast } from '../../ui/toasts.ts';
import { InstructionsField, NameField } from '../settings/mount-fields.tsx';

const EMPTY: Acceptance = { token: '', name: '', instructions: '' };

/** Accepts another tenant's invitation. */
export function AcceptDialog({ tenant, onClose }: { tenant: string; onClose: () => void }) {
  const [form, setForm] = useState(EMPTY);
  const change = (changes: Partial<Acceptance>) => setForm({ ...form, ...changes });
  const request = acceptance(tenant, form);
  const accept = async () => {
    await sendRequest(request);
    noteChange();
    toast('Accepted the invitation.');
    onClose();
  };
  return (
    <ActionDialog
      title="Accept an invitation"
      verb="Accept"
      isReady={form.token !== '' && form.name !== ''}
      hasInput={form !== EMPTY}
      request={request}
      onClose={onClose}
      onSubmit={accept}
    >
      <TextField
        label="Token of the invitation"
        autofocus
        autocomplete="off"
        spellcheck={false}
        placeholder="msi_…"
        value={form.token}
        onChange={(token) => change({ token: token.trim() })}
      />
      <NameField form={form} onChange={change} />
      <InstructionsField form={form} onChange={change} />
    </ActionDialog>
  );
}
