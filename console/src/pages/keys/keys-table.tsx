import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import { type ApiRequest, sendEmpty } from '../../api/api-client.ts';
import type { Key } from '../../api/api-types.ts';
import { canManage, canWrite } from '../../api/session-state.ts';
import { revocation, secretEnd } from '../../api/tenants-api.ts';
import { count } from '../../text/format.ts';
import { revealHidden } from '../../text/visible.tsx';
import { ActionDialog } from '../../ui/dialog.tsx';
import { Badge, Time } from '../../ui/inline.tsx';
import { Name } from '../../ui/name.tsx';
import { RowButton } from '../../ui/row-button.tsx';
import { Table } from '../../ui/table.tsx';
import { TenantLink } from '../../ui/tenant-link.tsx';
import { toast } from '../../ui/toasts.ts';
import type { Reload } from '../../ui/use-load.ts';
import { EditKeyDialog } from './edit-dialog.tsx';
import { KeyWritesDialog } from './key-writes-dialog.tsx';
import { RIGHT_TEXTS } from './rights-field.tsx';
import { RotateDialog } from './rotate-dialog.tsx';

interface Props {
  keys: Key[];
  /** Whether the table has a column for the tenant. */
  hasTenants: boolean;
  onChange: Reload;
}

interface KeyDialog {
  kind: 'writes' | 'edit' | 'rotate' | 'revoke' | 'end';
  key: Key;
}

export function KeysTable({ keys, hasTenants, onChange }: Props) {
  const [dialog, setDialog] = useState<KeyDialog | null>(null);
  const close = () => setDialog(null);
  const showAndClose = async () => {
    await onChange();
    close();
  };
  const open = (kind: KeyDialog['kind'], key: Key) => () => setDialog({ kind, key });
  return (
    <>
      <Table
        class={hasTenants ? 'keys with-tenants' : 'keys'}
        minWidth={hasTenants ? 1000 : 880}
        columns={['Key', ...(hasTenants ? ['For'] : []), 'Access', 'Status', 'Last used', 'Created', '']}
      >
        {keys.map((key) => (
          <tr key={key.id}>
            <th scope="row">
              <div class="key-name">
                {key.label !== '' && <Name text={key.label} />}
                <code class="muted">{key.id}</code>
              </div>
              {key.source !== '' && (
                <span class="muted small block">
                  <Name text={`source ${key.source}`} />
                </span>
              )}
              <Rights {...key} />
            </th>
            {hasTenants && (
              <td class="key-tenant" data-title="For">
                <Holder {...key} />
              </td>
            )}
            <td data-title="Access">{accessText(key)}</td>
            <td data-title="Status">
              <div>
                <KeyStatus {...key} />
                <PreviousSecret apiKey={key} onEnd={open('end', key)} />
              </div>
            </td>
            <td class="muted" data-title="Last used">
              {key.last_used_at === null ? 'never' : <Time value={key.last_used_at} isAge />}
            </td>
            <td class="muted" data-title="Created">
              <Time value={key.created_at} isAge />
            </td>
            <td class="actions">
              {canWrite.value && (
                <RowButton text="Writes…" of={key.label || key.id} onClick={open('writes', key)} />
              )}
              {canManage.value && key.revoked_at === null && (
                <>
                  <RowButton text="Edit…" of={key.label || key.id} onClick={open('edit', key)} />
                  {!isExpired(key) && (
                    <RowButton text="Rotate…" of={key.label || key.id} onClick={open('rotate', key)} />
                  )}
                  <RowButton text="Revoke" of={key.label || key.id} onClick={open('revoke', key)} />
                </>
              )}
            </td>
          </tr>
        ))}
      </Table>
      {dialog?.kind === 'writes' && <KeyWritesDialog apiKey={dialog.key} onClose={close} />}
      {dialog?.kind === 'edit' && (
        <EditKeyDialog apiKey={dialog.key} onClose={close} onSaved={showAndClose} />
      )}
      {dialog?.kind === 'rotate' && <RotateDialog apiKey={dialog.key} onClose={close} onRotated={onChange} />}
      {dialog?.kind === 'revoke' && (
        <EndDialog
          title="Revoke the key?"
          verb="Revoke"
          done="Revoked"
          apiKey={dialog.key}
          request={revocation(dialog.key.id)}
          onClose={close}
          onDone={showAndClose}
        >
          stops working within AUTH_CACHE_SECONDS (10 seconds by default). This cannot be undone.
        </EndDialog>
      )}
      {dialog?.kind === 'end' && (
        <EndDialog
          title="End the old secret?"
          verb="End now"
          done="Ended the old secret of"
          apiKey={dialog.key}
          request={secretEnd(dialog.key.id)}
          onClose={close}
          onDone={showAndClose}
        >
          keeps its current secret. Clients that still use the secret from before the last rotation are
          rejected within AUTH_CACHE_SECONDS (10 seconds by default).
        </EndDialog>
      )}
    </>
  );
}

/** A key's holder: a tenant, a service, or an admin. */
function Holder({ kind, tenant, tenants }: Key) {
  if (tenant !== null) return <TenantLink id={tenant} />;
  const [only, ...others] = tenants ?? [];
  return (
    <>
      <em>{kind}</em>{' '}
      {only !== undefined && (
        <span
          class={others.length === 0 ? 'muted small key-scope' : 'muted small'}
          title={tenants?.join('\n')}
        >
          for {others.length === 0 ? <Name text={only} /> : count(others.length + 1, 'tenant')}
        </span>
      )}
    </>
  );
}

function accessText({ kind, access, manages_stores, can_share }: Key): string {
  if (access === 'read_only') return 'read only';
  if (access === 'operate' || access === 'propose') return access;
  if (kind === 'admin') return 'manage';
  return `read, write${manages_stores ? ', stores' : ''}${can_share ? ', share' : ''}`;
}

function Rights({ rights }: Pick<Key, 'rights'>) {
  if (rights.length === 0) return null;
  return (
    <details class="muted small">
      <summary>{count(rights.length, 'right')} by path</summary>
      {rights.map(({ path, access }) => (
        <div key={path}>
          {RIGHT_TEXTS[access]} <code>{revealHidden(path)}</code>
        </div>
      ))}
    </details>
  );
}

const isExpired = ({ expires_at }: Key) => expires_at !== null && Date.parse(expires_at) <= Date.now();

function KeyStatus(key: Key) {
  const { revoked_at, expires_at } = key;
  if (revoked_at !== null) return <Badge kind="neutral">revoked</Badge>;
  if (expires_at === null) return null;
  if (isExpired(key)) return <Badge kind="neutral">expired</Badge>;
  return (
    <span class="muted small block">
      expires <Time value={expires_at} isAge />
    </span>
  );
}

/** Shows the expiry time for the secret from before the last rotation, while that secret works. */
function PreviousSecret({ apiKey, onEnd }: { apiKey: Key; onEnd: () => void }) {
  const { id, label, previous_expires_at: until, revoked_at } = apiKey;
  if (until === null || revoked_at !== null) return null;
  return (
    <span class="muted small block">
      old secret until <Time value={until} isAge />
      {canManage.value && <RowButton text="End now" of={label || id} class="link" onClick={onEnd} />}
    </span>
  );
}

interface EndProps {
  title: string;
  verb: string;
  /** The verb's past tense, before the ID. */
  done: string;
  apiKey: Key;
  request: ApiRequest;
  onClose: () => void;
  onDone: () => Promise<void>;
  /** The consequence, after the ID. */
  children: ComponentChildren;
}

/** Asks before a secret stops working. */
function EndDialog({ title, verb, done, apiKey, request, onClose, onDone, children }: EndProps) {
  const run = async () => {
    await sendEmpty(request);
    toast(`${done} ${apiKey.id}.`);
    await onDone();
  };
  return (
    <ActionDialog title={title} verb={verb} isDangerous request={request} onClose={onClose} onSubmit={run}>
      {apiKey.label !== '' && <Name text={apiKey.label} />}
      <p>
        <code>{apiKey.id}</code> {children}
      </p>
    </ActionDialog>
  );
}
