import { useState } from 'preact/hooks';
import { createTenant, creation } from '../../api/tenants-api.ts';
import { goTo, toHref } from '../../router.ts';
import { ActionDialog } from '../../ui/dialog.tsx';
import { TextField } from '../../ui/fields.tsx';
import { changedDetails, DetailsFields, NO_DETAILS } from './details-fields.tsx';

export function NewTenantDialog({ onClose }: { onClose: () => void }) {
  const [id, setId] = useState('');
  const [details, setDetails] = useState(NO_DETAILS);
  const tenant = { id, ...changedDetails(id, NO_DETAILS, details) };
  const create = async () => {
    await createTenant(tenant);
    goTo(toHref(['tenants', id]));
  };
  return (
    <ActionDialog
      title="New tenant"
      verb="Create"
      hasInput={id !== '' || details !== NO_DETAILS}
      onClose={onClose}
      request={id === '' ? undefined : creation(tenant)}
      onSubmit={create}
    >
      <TextField
        label="ID"
        hint="Used in keys and in the X-Tenant-Id header."
        required
        autofocus
        spellcheck={false}
        value={id}
        onChange={setId}
      />
      <DetailsFields form={details} id={id} onChange={setDetails} />
    </ActionDialog>
  );
}
