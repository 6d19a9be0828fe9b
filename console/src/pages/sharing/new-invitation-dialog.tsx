import { useState } from 'preact/hooks';
import { sendRequest } from '../../api/api-client.ts';
import { type Invitation, invitationCreation, type NewInvitation } from '../../api/sharing-api.ts';
import { ActionDialog } from '../../ui/dialog.tsx';
import { CheckField, SelectField } from '../../ui/fields.tsx';
import { SecretDialog } from '../keys/secret-dialog.tsx';
import { MOUNT_ACCESS, PrefixField } from '../settings/mount-fields.tsx';

/** Times until an invitation expires, in seconds. */
const EXPIRIES = {
  3600: 'In an hour',
  86400: 'In a day',
  604800: 'In 7 days',
  2592000: 'In 30 days',
  31536000: 'In a year',
};

const LEAST: NewInvitation = { access: 'read_only', reusable: false, expires_in_seconds: 604_800 };

interface Props {
  tenant: string;
  onClose: () => void;
  onCreated: () => void;
}

/** Creates an invitation, and shows its token. */
export function NewInvitationDialog({ tenant, onClose, onCreated }: Props) {
  const [invitation, setInvitation] = useState(LEAST);
  const [token, setToken] = useState<string | null>(null);
  const change = (changes: Partial<NewInvitation>) => setInvitation({ ...invitation, ...changes });
  const request = invitationCreation(tenant, invitation);
  const create = async () => {
    setToken((await sendRequest<Invitation & { token: string }>(request)).token);
    onCreated();
  };
  if (token !== null)
    return (
      <SecretDialog title="The new invitation" name="token" secret={token} onClose={onClose}>
        <p>
          Give it to the other tenant. A key that may share accepts it with <code>POST /v1/shares</code>, and
          you can accept it in the settings of that tenant.
        </p>
      </SecretDialog>
    );
  return (
    <ActionDialog
      title="Invite another tenant"
      verb="Invite"
      request={request}
      onClose={onClose}
      onSubmit={create}
    >
      <SelectField
        label="Access"
        hint="Access to this memory for the agents of the other tenant."
        autofocus
        texts={MOUNT_ACCESS}
        value={invitation.access}
        onChange={(access) => change({ access })}
      />
      <PrefixField value={invitation.prefix} onChange={(prefix) => change({ prefix })} />
      <SelectField
        label="Expires"
        hint="Shares that were accepted before remain."
        texts={EXPIRIES}
        value={String(invitation.expires_in_seconds)}
        onChange={(seconds) => change({ expires_in_seconds: Number(seconds) })}
      />
      <CheckField checked={invitation.reusable} onChange={(reusable) => change({ reusable })}>
        Several tenants may accept it
      </CheckField>
    </ActionDialog>
  );
}
