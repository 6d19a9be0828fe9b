import { useState } from 'preact/hooks';
import { noteChange } from '../../api/change-signals.ts';
import { move, moving } from '../../api/memory-api.ts';
import { replaceQuery, route } from '../../router.ts';
import { ActionDialog } from '../../ui/dialog.tsx';
import { TextField } from '../../ui/fields.tsx';
import { toast } from '../../ui/toasts.ts';
import { baseName, ROOT } from './tree.ts';

interface Props {
  tenant: string;
  path: string;
  onClose: () => void;
}

/** Moves a file or a directory, and offers an undo button. */
export function MoveDialog({ tenant, path, onClose }: Props) {
  const [to, setTo] = useState(path);
  const apply = async () => {
    await moveTo(tenant, path, to);
    toast(`Moved ${path} to ${to}.`, () => moveTo(tenant, to, path));
    onClose();
  };
  return (
    <ActionDialog
      title={`Move ${shortenName(baseName(path))}`}
      verb="Move"
      isWide
      isReady={to !== path}
      hasInput={to !== path}
      onClose={onClose}
      request={moving(tenant, path, to)}
      onSubmit={apply}
    >
      <TextField
        label="New path"
        hint={
          <>
            Below {ROOT}/. Missing directories are created, and existing files are not overwritten. The
            history moves with the file.
          </>
        }
        required
        autofocus
        value={to}
        onChange={setTo}
      />
    </ActionDialog>
  );
}

async function moveTo(tenant: string, from: string, to: string): Promise<void> {
  await move(tenant, from, to);
  noteChange();
  // The selected file moves with its directory.
  const shown = route.value.query.get('path');
  if (shown === from || shown?.startsWith(`${from}/`)) replaceQuery({ path: to + shown.slice(from.length) });
}

const shortenName = (name: string) => (name.length > 60 ? `${name.slice(0, 59)}…` : name);
