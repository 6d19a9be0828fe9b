import { useState } from 'preact/hooks';
import { createTenant, creation } from '../../api/tenants-api.ts';
import { goTo, toHref } from '../../router.ts';
import { FormDialog } from '../../ui/dialog.tsx';
import { useAction } from '../../ui/use-load.ts';
import { changedDetails, DetailsFields, NO_DETAILS } from './details-fields.tsx';

export function NewTenantDialog({ onClose }: { onClose: () => void }) {
  const [id, setId] = useState('');
  const [details, setDetails] = useState(NO_DETAILS);
  const action = useAction();
  const tenant = { id, ...changedDetails(id, NO_DETAILS, details) };
  const create = () =>
    action.run(async () => {
      await createTenant(tenant);
      goTo(toHref(['tenants', id]));
    });
  return (
    <FormDialog
      title="New tenant"
      verb="Create"
      hasInput={id !== '' || details !== NO_DETAILS}
      onClose={onClose}
      action={action}
      request={id === '' ? undefined : creation(tenant)}
      onSubmit={create}
    >
      <label>
        ID
        <input
          required
          autofocus
          spellcheck={false}
          value={id}
          onInput={(event) => setId(event.currentTarget.value)}
        />
        <span class="hint">Used in keys and in the X-Tenant-Id header.</span>
      </label>
      <DetailsFields form={details} id={id} onChange={setDetails} />
    </FormDialog>
  );
}
