import { useState } from 'preact/hooks';
import { sendRequest } from '../../api/api-client.ts';
import { noteChange } from '../../api/change-signals.ts';
import { type Acceptance, acceptance } from '../../api/sharing-api.ts';
import { FormDialog } from '../../ui/dialog.tsx';
import { toast } from '../../ui/toasts.ts';
import { useAction } from '../../ui/use-load.ts';
import { InstructionsField, NameField } from '../settings/mount-fields.tsx';

const EMPTY: Acceptance = { token: '', name: '', instructions: '' };

/** Accepts another tenant's invitation. */
export function AcceptDialog({ tenant, onClose }: { tenant: string; onClose: () => void }) {
  const [form, setForm] = useState(EMPTY);
  const action = useAction();
  const change = (changes: Partial<Acceptance>) => setForm({ ...form, ...changes });
  const request = acceptance(tenant, form);
  const accept = () =>
    action.run(async () => {
      await sendRequest(request);
      noteChange();
      toast('Accepted the invitation.');
      onClose();
    });
  return (
    <FormDialog
      title="Accept an invitation"
      verb="Accept"
      isReady={form.token !== '' && form.name !== ''}
      hasInput={form !== EMPTY}
      request={request}
      action={action}
      onClose={onClose}
      onSubmit={accept}
    >
      <label>
        Token of the invitation
        <input
          autofocus
          autocomplete="off"
          spellcheck={false}
          placeholder="msi_…"
          value={form.token}
          onInput={(event) => change({ token: event.currentTarget.value.trim() })}
        />
      </label>
      <NameField form={form} onChange={change} />
      <InstructionsField form={form} onChange={change} />
    </FormDialog>
  );
}
