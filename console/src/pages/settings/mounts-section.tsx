import { useState } from 'preact/hooks';
import { sendEmpty } from '../../api/api-client.ts';
import type { Mounts } from '../../api/api-types.ts';
import { noteChange } from '../../api/change-signals.ts';
import { canManage } from '../../api/session-state.ts';
import { listShares } from '../../api/sharing-api.ts';
import { listMounts, mounting, setMount, unmounting } from '../../api/tenants-api.ts';
import { Button } from '../../ui/button.tsx';
import { ActionDialog } from '../../ui/dialog.tsx';
import { Badge } from '../../ui/inline.tsx';
import { Load } from '../../ui/load.tsx';
import { MountProblem } from '../../ui/mount-problem.tsx';
import { Name } from '../../ui/name.tsx';
import { mayOverwrite, type NewerValue } from '../../ui/overwrite.tsx';
import { RowButton } from '../../ui/row-button.tsx';
import { Empty } from '../../ui/status-messages.tsx';
import { Table } from '../../ui/table.tsx';
import { TenantLink } from '../../ui/tenant-link.tsx';
import { toast } from '../../ui/toasts.ts';
import { type Reload, useLoad } from '../../ui/use-load.ts';
import {
  MOUNT_ACCESS_TEXTS,
  MountFields,
  type MountForm,
  NEW_MOUNT,
  Prefix,
  toMount,
} from './mount-fields.tsx';

type ReadMount = Mounts['mounts'][number];
/** A mount, and whether it belongs to a share. */
type ListedMount = ReadMount & { isShared: boolean };

/** Lists a tenant's mounts, and the tenants that mount its memory. */
export function MountsSection({ tenant }: { tenant: string }) {
  const [editing, setEditing] = useState<ListedMount | 'new' | null>(null);
  const [removing, setRemoving] = useState<ListedMount | null>(null);
  const mounts = useLoad(
    async (signal) => {
      const [listed, { received }] = await Promise.all([
        listMounts(tenant, signal),
        listShares(tenant, signal),
      ]);
      const shared = new Set(received.map(({ path }) => path));
      const isShared = ({ name }: ReadMount) => shared.has(`/memories/${name}`);
      return { ...listed, mounts: listed.mounts.map((mount) => ({ ...mount, isShared: isShared(mount) })) };
    },
    [tenant],
    'mounts',
  );
  return (
    <>
      <div class="page-head">
        <h2>Mounts</h2>
        {canManage.value && <Button icon="plus" text="New mount" onClick={() => setEditing('new')} />}
      </div>
      <p class="muted small">Memories of other tenants that agents see as directories of this one.</p>
      <Load of={mounts} what="mounts">
        {(data) => (
          <>
            {data.mounts.length === 0 ? (
              <Empty title="No mounts" />
            ) : (
              <MountsTable mounts={data.mounts} onEdit={setEditing} onRemove={setRemoving} />
            )}
            {data.mounted_by.length > 0 && <MountedBy {...data} />}
          </>
        )}
      </Load>
      {editing !== null && (
        <MountDialog
          tenant={tenant}
          mount={editing === 'new' ? null : editing}
          onClose={() => setEditing(null)}
          onChange={mounts.reload}
        />
      )}
      {removing !== null && (
        <RemoveDialog
          tenant={tenant}
          mount={removing}
          onClose={() => setRemoving(null)}
          onChange={mounts.reload}
        />
      )}
    </>
  );
}

function MountsTable(props: {
  mounts: ListedMount[];
  onEdit: (mount: ListedMount) => void;
  onRemove: (mount: ListedMount) => void;
}) {
  return (
    <Table minWidth={600} columns={['Directory', 'Memory of', 'Access', '']}>
      {props.mounts.map((mount) => (
        <tr key={mount.name}>
          <th scope="row">
            <Name text={`/memories/${mount.name}`} />
            <Prefix path={mount.prefix} />
            {mount.instructions !== '' && (
              <span class="muted small block">
                <Name text={mount.instructions} />
              </span>
            )}
          </th>
          <td class="mounted-tenant" data-title="Memory of">
            {mount.tenant === null ? 'another tenant' : <TenantLink id={mount.tenant} />}{' '}
            {mount.isShared && <Badge kind="neutral">share</Badge>} <MountProblem status={mount.status} />
          </td>
          <td data-title="Access">{MOUNT_ACCESS_TEXTS[mount.access]}</td>
          <td class="actions">
            {canManage.value && (
              <>
                <RowButton text="Edit" of={mount.name} onClick={() => props.onEdit(mount)} />
                <RowButton text="Remove" of={mount.name} onClick={() => props.onRemove(mount)} />
              </>
            )}
          </td>
        </tr>
      ))}
    </Table>
  );
}

function MountedBy({ mounted_by, more }: Mounts) {
  return (
    <>
      <h3>Mounted in</h3>
      <ul class="bullets">
        {mounted_by.map(({ tenant, name, access }) => (
          <li key={`${tenant}/${name}`}>
            <TenantLink id={tenant} /> as <Name text={`/memories/${name}`} /> ({MOUNT_ACCESS_TEXTS[access]})
          </li>
        ))}
        {more && <li class="muted">and in others</li>}
      </ul>
    </>
  );
}

interface DialogProps<T> {
  tenant: string;
  mount: T;
  onClose: () => void;
  onChange: Reload;
}

/** Adds or edits a mount. An existing mount's name cannot be changed. */
function MountDialog({ tenant, mount, onClose, onChange }: DialogProps<ListedMount | null>) {
  const [form, setForm] = useState<MountForm>({ ...NEW_MOUNT, ...mount, tenant: mount?.tenant ?? '' });
  const save = async (signal: AbortSignal) => {
    const wanted = toMount(form);
    const { mounts } = await listMounts(tenant, signal);
    const current = mounts.find((each) => each.name === wanted.name);
    if (current !== undefined && !(await mayOverwrite(newerMountValues(mount, current)))) return;
    await setMount(tenant, wanted);
    noteChange();
    toast(mount === null ? 'Added the mount.' : 'Saved the mount.');
    await onChange();
    onClose();
  };
  return (
    <ActionDialog
      title={mount === null ? 'New mount' : `Mount /memories/${mount.name}`}
      verb={mount === null ? 'Mount' : 'Save'}
      isReady={form.tenant !== ''}
      onClose={onClose}
      request={mounting(tenant, toMount(form))}
      onSubmit={save}
    >
      <MountFields
        form={form}
        isNew={mount === null}
        isShared={mount?.isShared === true}
        except={tenant}
        onChange={(changes) => setForm({ ...form, ...changes })}
      />
    </ActionDialog>
  );
}

/**
 * Returns a mount's values that differ from the values in the dialog; all values if the mount is new to the dialog.
 */
function newerMountValues(started: ReadMount | null, current: ReadMount): NewerValue[] {
  const values = [
    ['Tenant', started?.tenant, current.tenant, current.tenant ?? 'another tenant'],
    ['Access', started?.access, current.access, MOUNT_ACCESS_TEXTS[current.access]],
    ['Shown path', started?.prefix, current.prefix, current.prefix ?? 'all'],
    ['Instructions', started?.instructions, current.instructions, current.instructions || 'none'],
  ] as const;
  return values.filter(([, was, now]) => was !== now).map(([name, , , now]) => ({ name, now }));
}

function RemoveDialog({ tenant, mount, onClose, onChange }: DialogProps<ListedMount>) {
  const remove = async () => {
    await sendEmpty(unmounting(tenant, mount.name));
    noteChange();
    toast('Removed the mount.');
    await onChange();
    onClose();
  };
  return (
    <ActionDialog
      title="Remove the mount?"
      verb="Remove"
      isDangerous
      onClose={onClose}
      request={unmounting(tenant, mount.name)}
      onSubmit={remove}
    >
      <p>
        Agents no longer see <Name text={`/memories/${mount.name}`} />. The memory of{' '}
        {mount.tenant === null ? 'the other tenant' : <Name text={mount.tenant} />} is unchanged.
        {mount.isShared && ' The share ends.'}
      </p>
    </ActionDialog>
  );
}
