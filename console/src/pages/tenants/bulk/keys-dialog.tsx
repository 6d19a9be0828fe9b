import { useRef, useState } from 'preact/hooks';
import { createKey, type KeyWithSecret, keyCreation, type NewKey } from '../../../api/tenants-api.ts';
import { csvRow } from '../../../text/csv.ts';
import { count } from '../../../text/format.ts';
import { Button } from '../../../ui/button.tsx';
import { LEAVE } from '../../../ui/confirm.tsx';
import { CopyButton } from '../../../ui/copy-button.tsx';
import { save } from '../../../ui/save.ts';
import { KeyFields } from '../../keys/key-fields.tsx';
import { leastKey, randomId, toNewKey } from '../../keys/new-key.ts';
import { BulkDialog, type BulkProps } from './bulk-dialog.tsx';

const START = leastKey('');

/** Creates a key for each of several tenants. */
export function KeysDialog(props: BulkProps) {
  const [form, setForm] = useState(START);
  const [saved, setSaved] = useState(0);
  const created = useRef(new Map<string, KeyWithSecret>());
  // A repeated request is equal, also in its expiry, so that it creates no second key.
  const creations = useRef(new Map<string, { key: NewKey; id: string }>());
  const create = async (tenant: string) => {
    const key = toNewKey({ ...form, tenant });
    if (key === null) throw new Error('The form is incomplete.');
    const creation = creations.current.get(tenant) ?? { key, id: randomId() };
    creations.current.set(tenant, creation);
    created.current.set(tenant, await createKey(creation.key, creation.id));
  };
  const key = toNewKey({ ...form, tenant: 'any' });
  const isSaved = () => created.current.size === saved;
  return (
    <BulkDialog
      {...props}
      verb="Create keys"
      title={`Create a key for each of ${count(props.targets.count, 'tenant')}?`}
      done="Created a key for"
      isReady={key !== null}
      hasInput={form !== START}
      request={key === null ? undefined : (tenant) => keyCreation({ ...key, tenant })}
      work={({ id }) => create(id)}
      unsaved={{ is: () => !isSaved(), question: QUESTION }}
      results={() => (
        <Secrets
          keys={[...created.current]}
          isSaved={isSaved()}
          onSaved={() => setSaved(created.current.size)}
        />
      )}
    >
      <KeyFields form={form} isForTenant onChange={(changes) => setForm({ ...form, ...changes })} />
    </BulkDialog>
  );
}

const QUESTION = {
  ...LEAVE,
  title: 'Leave without the keys?',
  text: 'You have not downloaded or copied them, and they are not shown again.',
};

interface SecretsProps {
  keys: readonly (readonly [tenant: string, KeyWithSecret])[];
  isSaved: boolean;
  onSaved: () => void;
}

/** Offers the new secrets, which are shown only once. */
function Secrets({ keys, isSaved, onSaved }: SecretsProps) {
  if (keys.length === 0) return null;
  const csv = () =>
    [['tenant', 'id', 'key'], ...keys.map(([tenant, { id, key }]) => [tenant, id, key])].map(csvRow).join('');
  return (
    <>
      <p>Download or copy the keys now: they are shown only once.</p>
      <div class="buttons">
        <Button
          icon="download"
          text="Keys as CSV"
          onClick={() => {
            save(new Blob([csv()]), 'keys.csv');
            onSaved();
          }}
        />
        <CopyButton text={csv} what="the keys" isLarge onCopied={onSaved} />
      </div>
      {!isSaved && <p class="notice warning">You have not downloaded or copied the keys.</p>}
    </>
  );
}
