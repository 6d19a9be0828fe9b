import { useRef, useState } from 'preact/hooks';
import type { Access } from '../../api/api-types.ts';
import { onlyTenants } from '../../api/session-state.ts';
import { createKey, type KeyWithSecret, keyCreation, type NewKey } from '../../api/tenants-api.ts';
import { ActionDialog } from '../../ui/dialog.tsx';
import { FirstWrite } from './first-write.tsx';
import { KeyFields } from './key-fields.tsx';
import { type KeyForm, leastKey, randomId, toNewKey } from './new-key.ts';
import { SecretDialog } from './secret-dialog.tsx';

interface Props {
  /** If absent, the form asks for the key's holder. */
  tenant?: string;
  /** The access that the form starts with. */
  access?: Access;
  onClose: () => void;
  onCreated: () => void;
}

export function NewKeyDialog({ tenant, access = 'read_only', onClose, onCreated }: Props) {
  const [form, setForm] = useState(() => ({ ...leastKey(tenant ?? onlyTenants.value?.[0] ?? ''), access }));
  const [created, setCreated] = useState<KeyWithSecret | null>(null);
  const toCreation = useCreation();
  const create = async () => {
    const creation = toCreation(form);
    if (creation === null) return;
    setCreated(await createKey(creation.key, creation.id));
    onCreated();
  };
  if (created !== null) {
    const { id, tenant: owner, access: granted } = created;
    return (
      <SecretDialog title="The new key" apiKey={created} secret={created.key} onClose={onClose}>
        {owner !== null && granted === 'read_write' && <FirstWrite tenant={owner} by={id} />}
      </SecretDialog>
    );
  }
  const key = toNewKey(form);
  return (
    <ActionDialog
      title="New key"
      verb="Create"
      isReady={key !== null}
      request={key === null ? undefined : keyCreation(key)}
      hasInput={form.label !== '' || form.source !== '' || form.tenants !== '' || form.rights.length > 0}
      onClose={onClose}
      onSubmit={create}
    >
      <KeyFields
        form={form}
        isForTenant={tenant !== undefined}
        onChange={(changes) => setForm({ ...form, ...changes })}
      />
    </ActionDialog>
  );
}

interface Creation {
  key: NewKey;
  id: string;
}

/** Returns the request for a form. A form that is sent again after a lost response has the same idempotency key. */
function useCreation(): (form: KeyForm) => Creation | null {
  const last = useRef<{ form: KeyForm; creation: Creation } | null>(null);
  return (form) => {
    if (last.current?.form === form) return last.current.creation;
    const key = toNewKey(form);
    if (key === null) return null;
    const creation = { key, id: randomId() };
    last.current = { form, creation };
    return creation;
  };
}
