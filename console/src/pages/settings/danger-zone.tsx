import { useState } from 'preact/hooks';
import type { Tenant } from '../../api/api-types.ts';
import { noteChange } from '../../api/change-signals.ts';
import { canManage } from '../../api/session-state.ts';
import { deleteTenant, deletion, setSuspended, suspension } from '../../api/tenants-api.ts';
import { goTo } from '../../router.ts';
import { count } from '../../text/format.ts';
import { Button } from '../../ui/button.tsx';
import { confirm } from '../../ui/confirm.tsx';
import { ActionDialog } from '../../ui/dialog.tsx';
import { TextField } from '../../ui/fields.tsx';
import { Name } from '../../ui/name.tsx';
import { ErrorText } from '../../ui/status-messages.tsx';
import { toast } from '../../ui/toasts.ts';
import { mayDiscard } from '../../ui/unsaved.ts';
import { useAction } from '../../ui/use-load.ts';

const SUSPEND = {
  title: 'Suspend the tenant?',
  text: 'Its agents are rejected until you resume it. Its files are kept.',
  verb: 'Suspend',
  isDangerous: true,
};

/** Suspends, resumes, or deletes a tenant. */
export function DangerZone({ tenant }: { tenant: Tenant }) {
  const [isDeleting, setIsDeleting] = useState(false);
  const action = useAction();
  const isActive = tenant.status === 'active';
  const toggle = async () => {
    if (isActive && !(await confirm({ ...SUSPEND, request: suspension(tenant.id, true) }))) return;
    await action.run(async () => {
      await setSuspended(tenant.id, isActive);
      noteChange();
      toast(isActive ? `Suspended ${tenant.id}.` : `Resumed ${tenant.id}.`);
    });
  };
  return (
    <>
      <h2>{isActive ? 'Suspend or delete' : 'Resume or delete'}</h2>
      <p class="muted small">
        While a tenant is suspended, its requests are rejected and its files are kept. Deleting a tenant
        removes its files, history, and keys.
      </p>
      <ErrorText message={action.error} />
      <div class="buttons">
        <Button text={isActive ? 'Suspend…' : 'Resume'} disabled={action.isRunning} onClick={toggle} />
        {canManage.value && (
          <Button
            text="Delete tenant…"
            class="danger-quiet"
            onClick={async () => (await mayDiscard()) && setIsDeleting(true)}
          />
        )}
      </div>
      {isDeleting && <DeleteTenantDialog tenant={tenant} onClose={() => setIsDeleting(false)} />}
    </>
  );
}

function DeleteTenantDialog({ tenant, onClose }: { tenant: Tenant; onClose: () => void }) {
  const [typed, setTyped] = useState('');
  const remove = async () => {
    await deleteTenant(tenant.id);
    goTo('#/');
    toast(`Deleted ${tenant.id}.`);
  };
  return (
    <ActionDialog
      title="Delete the tenant?"
      verb="Delete tenant"
      isDangerous
      isReady={typed === tenant.id}
      doing={`Deleting ${count(tenant.files, 'file')}`}
      onClose={onClose}
      request={deletion(tenant.id)}
      onSubmit={remove}
    >
      <p>
        This deletes {count(tenant.files, 'file')}, the history, and the keys of the tenant. It cannot be
        undone.
      </p>
      <Name text={tenant.id} copies="the ID" />
      <TextField label="Type the ID of the tenant to confirm" autofocus value={typed} onChange={setTyped} />
    </ActionDialog>
  );
}
