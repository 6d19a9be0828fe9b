import { changed } from '../../api/changes.ts';
import { deleteFile } from '../../api/memory.ts';
import { replaceQuery } from '../../router.ts';
import { FormDialog } from '../../ui/dialog.tsx';
import { toast } from '../../ui/messages.tsx';
import { useAction } from '../../ui/use-load.ts';

interface Props {
  tenant: string;
  path: string;
  etag: string;
  onClose: () => void;
}

export function DeleteFileDialog({ tenant, path, etag, onClose }: Props) {
  const action = useAction();
  const remove = () =>
    action.run(async () => {
      await deleteFile(tenant, path, etag);
      changed();
      toast(`Deleted ${path}.`);
      replaceQuery({ path: null, line: null });
      onClose();
    });
  return (
    <FormDialog title="Delete the file?" verb="Delete" isDangerous {...{ action, onClose }} onSubmit={remove}>
      <p>
        <bdi>
          <code>{path}</code>
        </bdi>{' '}
        stays in the history, from which you can restore it.
      </p>
    </FormDialog>
  );
}
