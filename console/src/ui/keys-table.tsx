import { useState } from 'preact/hooks';
import { canWrite } from '../api/session.ts';
import { revokeKey } from '../api/tenants.ts';
import type { Key } from '../api/types.ts';
import { hrefOf } from '../router.ts';
import { FormDialog } from './dialog.tsx';
import { Badge, Time } from './inline.tsx';
import { toast } from './messages.tsx';
import { Name } from './name.tsx';
import { useAction } from './use-load.ts';

interface Props {
  keys: Key[];
  /** Whether the table names the tenants. */
  hasTenants: boolean;
  onChange: () => void;
}

export function KeysTable({ keys, hasTenants, onChange }: Props) {
  const [revoking, setRevoking] = useState<Key | null>(null);
  return (
    <div class="table-scroll">
      <table class={hasTenants ? 'cards keys with-tenants' : 'cards keys'}>
        <thead>
          <tr>
            <th scope="col">Key</th>
            {hasTenants && <th scope="col">For</th>}
            <th scope="col">Access</th>
            <th scope="col">Status</th>
            <th scope="col">Last used</th>
            <th scope="col">Created</th>
            <th scope="col">
              <span class="visually-hidden">Actions</span>
            </th>
          </tr>
        </thead>
        <tbody>
          {keys.map((key) => (
            <tr key={key.id}>
              <th scope="row">
                {key.label !== '' && <Name text={key.label} />}
                <code class="muted block">{key.id}</code>
              </th>
              {hasTenants && (
                <td class="key-tenant" data-title="For">
                  {key.tenant === null ? <em>{key.kind}</em> : <TenantLink id={key.tenant} />}
                </td>
              )}
              <td data-title="Access">{key.access === 'read_only' ? 'read only' : 'read, write'}</td>
              <td data-title="Status">
                <KeyStatus {...key} />
              </td>
              <td class="muted" data-title="Last used">
                {key.last_used_at === null ? 'never' : <Time value={key.last_used_at} isAge />}
              </td>
              <td class="muted" data-title="Created">
                <Time value={key.created_at} isAge />
              </td>
              <td class="actions">
                {canWrite.value && key.revoked_at === null && (
                  <button type="button" class="quiet" onClick={() => setRevoking(key)}>
                    Revoke<span class="visually-hidden"> {key.label || key.id}</span>
                  </button>
                )}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
      {revoking && (
        <RevokeDialog
          apiKey={revoking}
          onClose={() => setRevoking(null)}
          onRevoked={() => {
            setRevoking(null);
            onChange();
          }}
        />
      )}
    </div>
  );
}

function TenantLink({ id }: { id: string }) {
  return (
    <a class="name-link" href={hrefOf(['tenants', id, 'settings'])}>
      <Name text={id} />
    </a>
  );
}

function KeyStatus({ revoked_at, expires_at }: Key) {
  if (revoked_at !== null) return <Badge kind="neutral">revoked</Badge>;
  if (expires_at === null) return <Badge kind="good">active</Badge>;
  if (Date.parse(expires_at) <= Date.now()) return <Badge kind="neutral">expired</Badge>;
  return (
    <>
      <Badge kind="good">active</Badge>{' '}
      <span class="muted small">
        expires <Time value={expires_at} isAge />
      </span>
    </>
  );
}

function RevokeDialog(props: { apiKey: Key; onClose: () => void; onRevoked: () => void }) {
  const { apiKey, onClose, onRevoked } = props;
  const action = useAction();
  const revoke = () =>
    action.run(async () => {
      await revokeKey(apiKey.id);
      toast(`Revoked ${apiKey.id}.`);
      onRevoked();
    });
  return (
    <FormDialog title="Revoke the key?" verb="Revoke" isDangerous {...{ action, onClose }} onSubmit={revoke}>
      {apiKey.label !== '' && <Name text={apiKey.label} />}
      <p>
        <code>{apiKey.id}</code> stops working everywhere within a minute. This cannot be undone.
      </p>
    </FormDialog>
  );
}
