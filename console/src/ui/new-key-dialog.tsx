import { useState } from 'preact/hooks';
import { createKey } from '../api/tenants.ts';
import type { Access, KeyKind } from '../api/types.ts';
import { CopyButton } from './copy.tsx';
import { FormDialog } from './dialog.tsx';
import { Modal } from './modal.tsx';
import { Options } from './options.tsx';
import { useAction } from './use-load.ts';

const DAY = 86_400_000;
const EXPIRIES = { '': 'Never', 30: 'In 30 days', 90: 'In 90 days', 365: 'In a year' };

interface Props {
  /** Without, the key is for a service or an administrator. */
  tenant?: string;
  onClose: () => void;
  onCreated: () => void;
}

export function NewKeyDialog({ tenant, onClose, onCreated }: Props) {
  const [kind, setKind] = useState<KeyKind>(tenant === undefined ? 'service' : 'tenant');
  const [access, setAccess] = useState<Access>('read_write');
  const [label, setLabel] = useState('');
  const [days, setDays] = useState('');
  const [secret, setSecret] = useState<string | null>(null);
  const action = useAction();
  const create = () =>
    action.run(async () => {
      const expires_at = days === '' ? null : new Date(Date.now() + Number(days) * DAY).toISOString();
      const { key } = await createKey({
        kind,
        access,
        label,
        expires_at,
        ...(tenant === undefined ? {} : { tenant }),
      });
      setSecret(key);
      onCreated();
    });
  if (secret !== null) return <SecretDialog {...{ secret, onClose }} />;
  return (
    <FormDialog title="New key" verb="Create" {...{ action, onClose }} onSubmit={create}>
      <label>
        Label
        <input
          autofocus
          maxLength={255}
          placeholder="What uses it"
          value={label}
          onInput={(event) => setLabel(event.currentTarget.value)}
        />
        <span class="hint">The history shows it next to each change.</span>
      </label>
      {tenant === undefined && (
        <label>
          For
          <select value={kind} onChange={(event) => setKind(event.currentTarget.value as KeyKind)}>
            <option value="service">A service that acts for all tenants</option>
            <option value="admin">An administrator</option>
          </select>
        </label>
      )}
      <label>
        Access
        <select value={access} onChange={(event) => setAccess(event.currentTarget.value as Access)}>
          <option value="read_write">Read and write</option>
          <option value="read_only">Read only</option>
        </select>
      </label>
      <label>
        Expires
        <select value={days} onChange={(event) => setDays(event.currentTarget.value)}>
          <Options texts={EXPIRIES} />
        </select>
      </label>
    </FormDialog>
  );
}

function SecretDialog({ secret, onClose }: { secret: string; onClose: () => void }) {
  const [isCopied, setIsCopied] = useState(false);
  const [isReminded, setIsReminded] = useState(false);
  const close = () => (isCopied ? onClose() : setIsReminded(true));
  return (
    <Modal title="The new key" onClose={close}>
      <div class="dialog-body">
        <p>Copy it now: it is shown only once.</p>
        <div class="secret">
          <input
            class="code"
            readOnly
            autofocus
            aria-label="The key"
            value={secret}
            onFocus={(event) => event.currentTarget.select()}
            onCopy={() => setIsCopied(true)}
          />
          <CopyButton text={secret} what="the key" isLarge onCopied={() => setIsCopied(true)} />
        </div>
        {isReminded && !isCopied && (
          <p class="notice warning" role="alert">
            You have not copied the key. To close without it, choose Done.
          </p>
        )}
      </div>
      <footer>
        <button type="button" class="primary" onClick={onClose}>
          Done
        </button>
      </footer>
    </Modal>
  );
}
