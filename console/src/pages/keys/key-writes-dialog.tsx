import { useState } from 'preact/hooks';
import { sendEmpty } from '../../api/api-client.ts';
import type { Key } from '../../api/api-types.ts';
import { undoRequest } from '../../api/incidents-api.ts';
import { canManage, canWrite } from '../../api/session-state.ts';
import { revocation } from '../../api/tenants-api.ts';
import { toHref } from '../../router.ts';
import { ActionDialog } from '../../ui/dialog.tsx';
import { CheckField } from '../../ui/fields.tsx';
import { Time } from '../../ui/inline.tsx';
import { Name } from '../../ui/name.tsx';
import { SinceField } from '../incidents/actor-fields.tsx';
import { openJob } from '../incidents/open-job.ts';

/** Links to a key's writes, and starts the dry run that undoes them. */
export function KeyWritesDialog({ apiKey, onClose }: { apiKey: Key; onClose: () => void }) {
  const { id, label, tenant, last_used_at, revoked_at } = apiKey;
  const [since, setSince] = useState('1d');
  const [revokes, setRevokes] = useState(false);
  const undo = undoRequest({ by: id, since, tenants: {} });
  const start = async () => {
    if (revokes) await sendEmpty(revocation(id));
    setRevokes(false);
    await openJob(undo);
  };
  return (
    <ActionDialog
      title="Undo the key's writes"
      verb={revokes ? 'Revoke and dry run' : 'Dry run'}
      isDangerous={revokes}
      isReady={canWrite.value}
      request={revokes ? [revocation(id), undo] : undo}
      onClose={onClose}
      onSubmit={start}
    >
      <p>
        {label !== '' && <Name text={label} />} <code>{id}</code>, last used{' '}
        {last_used_at === null ? 'never' : <Time value={last_used_at} />}. The service stores no addresses of
        keys.
      </p>
      {tenant !== null && (
        <a href={toHref(['tenants', tenant, 'history'], { by: id })}>
          Writes in <Name text={tenant} />
        </a>
      )}
      <p>The dry run lists the tenants and the number of files that the key changed, and changes nothing.</p>
      <SinceField since={since} onChange={setSince} />
      {revoked_at === null && canManage.value && (
        <CheckField checked={revokes} onChange={setRevokes}>
          Revoke the key now. This cannot be undone.
        </CheckField>
      )}
    </ActionDialog>
  );
}
