import { useState } from 'preact/hooks';
import { mounting, setMount } from '../../../api/tenants-api.ts';
import { count } from '../../../text/format.ts';
import { MountFields, NEW_MOUNT, toMount } from '../../settings/mount-fields.tsx';
import { BulkDialog, type BulkProps } from './bulk-dialog.tsx';

/** Mounts one memory into several tenants. */
export function MountDialog(props: BulkProps) {
  const [form, setForm] = useState(NEW_MOUNT);
  const mount = toMount(form);
  return (
    <BulkDialog
      {...props}
      verb="Mount"
      title={`Mount a memory into ${count(props.targets.count, 'tenant')}`}
      done="Mounted into"
      isReady={form.tenant !== ''}
      hasInput={form !== NEW_MOUNT}
      // A tenant cannot mount itself.
      request={(id) => mounting(id, mount)}
      work={async ({ id }) => (id === mount.tenant ? 'skipped' : setMount(id, mount))}
    >
      <MountFields form={form} isNew onChange={(changes) => setForm({ ...form, ...changes })} />
      <p class="muted small">Replaces the mount of this name in tenants that already have one.</p>
    </BulkDialog>
  );
}
