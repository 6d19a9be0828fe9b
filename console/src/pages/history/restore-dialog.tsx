import { previewRestore, type RestoreTarget, restoration, restore } from '../../api/history-api.ts';
import { replaceQuery } from '../../router.ts';
import { FormDialog } from '../../ui/dialog.tsx';
import { LoadError, Loading } from '../../ui/status-messages.tsx';
import { toast } from '../../ui/toasts.ts';
import { ChangesPreview, changeAmount, hasChanges } from './changes-preview.tsx';
import { StalePreview } from './stale-preview.tsx';
import { changeWarnings, createUndo } from './undo-changes.ts';
import { usePreview } from './use-preview.ts';

interface Props {
  tenant: string;
  target: RestoreTarget;
  /** Name of the restored file, directory, or memory. */
  what: string;
  onClose: () => void;
}

/** Previews a restore, and applies it on confirmation. */
export function RestoreDialog({ tenant, target, what, onClose }: Props) {
  const { changes, error, isLoading, stale, action, apply } = usePreview({
    load: (signal) => previewRestore(tenant, target, signal),
    dependencies: [],
    apply: (plan) => restore(tenant, target, plan),
    onDone: (done) => {
      replaceQuery({ at: null });
      toast(`${changeWarnings(done)}Restored ${what}: ${done.summary}.`, createUndo(tenant, done));
      onClose();
    },
  });
  const isReady = changes !== undefined && !isLoading && hasChanges(changes);
  const doing = `Restoring ${changeAmount(changes)}`;
  return (
    <FormDialog
      title="Restore"
      verb="Restore"
      isWide
      action={action}
      isReady={isReady}
      doing={doing}
      onClose={onClose}
      request={changes && restoration(tenant, target, changes.plan)}
      onSubmit={apply}
    >
      <p class="clamped" title={what}>
        Restores <bdi>{what}</bdi>. You can undo the restore.
      </p>
      {error !== undefined && <LoadError error={error} />}
      {isLoading && <Loading what="the preview" />}
      {stale && changes && !isLoading && <StalePreview tenant={tenant} before={stale} after={changes} />}
      {changes && !isLoading && <ChangesPreview key={changes.plan} tenant={tenant} changes={changes} />}
    </FormDialog>
  );
}
