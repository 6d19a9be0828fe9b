import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import { type ApiRequest, sendRequest } from '../../api/api-client.ts';
import type { Tenant } from '../../api/api-types.ts';
import { copying, renaming } from '../../api/tenants-api.ts';
import { goTo, replacePlace, toHref } from '../../router.ts';
import { count } from '../../text/format.ts';
import { Button } from '../../ui/button.tsx';
import { ActionDialog } from '../../ui/dialog.tsx';
import { TextField } from '../../ui/fields.tsx';
import { toast } from '../../ui/toasts.ts';
import { mayDiscard } from '../../ui/unsaved.ts';

interface Props {
  tenant: Tenant;
}

export function RenameCopy({ tenant }: Props) {
  const [open, setOpen] = useState<'rename' | 'copy' | null>(null);
  const onClose = () => setOpen(null);
  const isDraft = tenant.draft_of !== null;
  return (
    <>
      <h2>{isDraft ? 'Copy' : 'Rename or copy'}</h2>
      <p class="muted small">
        {!isDraft && 'A renamed tenant keeps its files, history, settings, keys, and mounts. '}A copy gets the
        files, settings, and mounts of now, but no keys and no history.
      </p>
      <div class="buttons">
        {!isDraft && (
          // Renaming changes the settings URL, so unsaved input would be lost.
          <Button text="Rename…" onClick={async () => (await mayDiscard()) && setOpen('rename')} />
        )}
        <Button text="Copy…" onClick={() => setOpen('copy')} />
      </div>
      {open === 'rename' && <RenameDialog tenant={tenant} onClose={onClose} />}
      {open === 'copy' && <CopyDialog tenant={tenant} onClose={onClose} />}
    </>
  );
}

interface DialogProps extends Props {
  onClose: () => void;
}

function RenameDialog({ tenant: { id, files }, onClose }: DialogProps) {
  const rename = async (to: string) => {
    await sendRequest(renaming(id, to));
    replacePlace(settingsHref(to));
    toast(`Renamed ${id} to ${to}.`);
  };
  return (
    <NewIdDialog
      title="Rename the tenant"
      verb="Rename"
      doing={`Renaming: ${count(files, 'file')}`}
      current={id}
      toRequest={(to) => renaming(id, to)}
      apply={rename}
      onClose={onClose}
    >
      <p>
        Clients that send the ID must send the new one. Keys of the tenant work for the new ID within
        AUTH_CACHE_SECONDS (10 seconds by default), and writes wait while it is renamed.
      </p>
    </NewIdDialog>
  );
}

function CopyDialog({ tenant: { id, files }, onClose }: DialogProps) {
  const copy = async (to: string) => {
    await sendRequest(copying(id, to));
    onClose();
    goTo(settingsHref(to));
    toast(`Copied ${id} to ${to}.`);
  };
  return (
    <NewIdDialog
      title="Copy the tenant"
      verb="Copy"
      doing={`Copying ${count(files, 'file')}`}
      current=""
      toRequest={(to) => copying(id, to)}
      apply={copy}
      onClose={onClose}
    >
      <p>Its history begins with the copy. Writes to this tenant wait meanwhile.</p>
    </NewIdDialog>
  );
}

const settingsHref = (id: string) => toHref(['tenants', id, 'settings']);

interface NewIdProps {
  title: string;
  verb: string;
  doing: string;
  /** The field's initial value. */
  current: string;
  toRequest: (id: string) => ApiRequest;
  /** Renames or copies the tenant. Throws an error whose message is shown to the user. */
  apply: (id: string) => Promise<void>;
  onClose: () => void;
  children: ComponentChildren;
}

function NewIdDialog({ current, toRequest, apply, children, ...props }: NewIdProps) {
  const [id, setId] = useState(current);
  const isChanged = id !== current;
  return (
    <ActionDialog
      isReady={isChanged}
      hasInput={isChanged}
      {...props}
      request={toRequest(id)}
      onSubmit={() => apply(id)}
    >
      {children}
      <TextField label="New ID" required autofocus spellcheck={false} value={id} onChange={setId} />
    </ActionDialog>
  );
}
