import { type ApiRequest, sendEmpty } from '../../api/api-client.ts';
import { noteChange } from '../../api/change-signals.ts';
import { listVersions } from '../../api/history-api.ts';
import { replaceQuery } from '../../router.ts';
import { count } from '../../text/format.ts';
import { ActionDialog } from '../../ui/dialog.tsx';
import { Name } from '../../ui/name.tsx';
import { toast } from '../../ui/toasts.ts';
import { createUndo } from '../history/undo-changes.ts';
import type { Size } from './tree.ts';

interface Props {
  tenant: string;
  path: string;
  /** A directory's size, if known; null for a file. */
  below: Size | undefined | null;
  request: ApiRequest;
  onClose: () => void;
}

/** Deletes a file, or a directory with all its files, and offers an undo button. */
export function DeleteDialog({ tenant, path, below, request, onClose }: Props) {
  const apply = async () => {
    await sendEmpty(request);
    const undo = await createDeletionUndo(tenant, path);
    noteChange();
    toast(`Deleted ${path}.`, undo);
    replaceQuery({ path: null, line: null });
    onClose();
  };
  const title = below === null ? 'Delete the file?' : 'Delete the directory?';
  const files = below ? count(below.files, 'file') : 'everything in it';
  return (
    <ActionDialog
      title={title}
      onClose={onClose}
      verb="Delete"
      isDangerous
      doing={below === null ? 'Deleting' : `Deleting ${files}`}
      request={request}
      onSubmit={apply}
    >
      <Name text={path} keepsEnd />
      <p>
        {below === null ? 'It stays' : `This deletes ${files}. They stay`} in the history, from which you can
        restore {below === null ? 'it' : 'them'}.
      </p>
    </ActionDialog>
  );
}

/**
 * Returns a function that undoes a deletion.
 *
 * @returns undefined if the history does not contain the deletion: a directory without files, or a tenant without a
 * history
 */
async function createDeletionUndo(tenant: string, path: string): Promise<(() => Promise<void>) | undefined> {
  const [last] = (await listVersions(tenant, { path, limit: 1 })).versions;
  return last?.operation === 'deleted' ? createUndo(tenant, { changed_at: last.created_at }) : undefined;
}
