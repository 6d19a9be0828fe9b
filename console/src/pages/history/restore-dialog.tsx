import { changed } from '../../api/changes.ts';
import { type RestoreTarget, restore } from '../../api/history.ts';
import { replaceQuery } from '../../router.ts';
import { FormDialog } from '../../ui/dialog.tsx';
import { LoadError, Loading, toast } from '../../ui/messages.tsx';
import { useAction, useLoad } from '../../ui/use-load.ts';
import { amountOf, ChangesPreview, hasChanges } from './changes-preview.tsx';

interface Props {
  tenant: string;
  target: RestoreTarget;
  /** What is restored, in words. */
  what: string;
  onClose: () => void;
}

/** Shows what a restore would change, and does it. */
export function RestoreDialog({ tenant, target, what, onClose }: Props) {
  const action = useAction();
  const preview = useLoad((signal) => restore(tenant, target, true, signal), []);
  const apply = () =>
    action.run(async () => {
      const { summary } = await restore(tenant, target, false);
      changed();
      replaceQuery({ at: null });
      toast(`Restored ${what}: ${summary}.`);
      onClose();
    });
  const isReady = preview.data !== undefined && hasChanges(preview.data);
  const doing = `Restoring ${amountOf(preview.data)}`;
  return (
    <FormDialog
      title="Restore"
      verb="Restore"
      isWide
      {...{ action, isReady, doing, onClose }}
      onSubmit={apply}
    >
      <p>
        This makes <bdi>{what}</bdi> the present again. It can be undone by another restore.
      </p>
      {preview.error !== undefined && <LoadError error={preview.error} />}
      {preview.isLoading && <Loading what="the preview" />}
      {preview.data && <ChangesPreview changes={preview.data} />}
    </FormDialog>
  );
}
