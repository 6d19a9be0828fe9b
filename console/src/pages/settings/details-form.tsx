import { useState } from 'preact/hooks';
import type { Tenant } from '../../api/api-types.ts';
import { noteChange } from '../../api/change-signals.ts';
import { changeDetails, getTenant, type TenantDetails } from '../../api/tenants-api.ts';
import { mayOverwrite, type NewerValue } from '../../ui/overwrite.tsx';
import { ErrorText } from '../../ui/status-messages.tsx';
import { toast } from '../../ui/toasts.ts';
import { useUnsaved } from '../../ui/unsaved.ts';
import { useAction } from '../../ui/use-load.ts';
import { changedDetails, DetailsFields, toDetailsForm } from '../tenants/details-fields.tsx';

/** Form for a tenant's name, description, and metadata. */
export function DetailsForm({ tenant }: { tenant: Tenant }) {
  const [started, setStarted] = useState(tenant);
  const initial = toDetailsForm(started);
  const [form, setForm] = useState(initial);
  const action = useAction();
  const changes = changedDetails(tenant.id, initial, form);
  const isReady = Object.keys(changes).length > 0;
  useUnsaved(isReady);
  const save = () =>
    action.run(async () => {
      const current = await getTenant(tenant.id);
      if (!(await mayOverwrite(newerDetails(started, current, changes)))) return;
      setStarted(await changeDetails(tenant.id, changes));
      noteChange();
      toast('Saved the details.');
    });
  return (
    <form
      class="stack details-form"
      onSubmit={(event) => {
        event.preventDefault();
        if (isReady && !action.isRunning) void save();
      }}
    >
      <h2>Details</h2>
      <DetailsFields form={form} id={tenant.id} onChange={setForm} />
      <ErrorText message={action.error} />
      <div class="buttons">
        <button type="submit" class="primary" disabled={!isReady || action.isRunning}>
          Save details
        </button>
      </div>
    </form>
  );
}

/** Returns the details to save that have other values than the form started with. */
function newerDetails(started: Tenant, current: Tenant, changes: TenantDetails): NewerValue[] {
  const texts = (['name', 'description'] as const)
    .filter((field) => field in changes && current[field] !== started[field])
    .map((field) => ({ name: field === 'name' ? 'Name' : 'Description', now: current[field] || 'empty' }));
  const pairs = Object.keys(changes.metadata ?? {})
    .filter((key) => current.metadata[key] !== started.metadata[key])
    .map((key) => ({ name: key, now: current.metadata[key] ?? 'removed' }));
  return [...texts, ...pairs];
}
