import { type RestoreTarget, restoration } from '../../api/history-api.ts';
import { replaceQuery } from '../../router.ts';
import { PreviewDialog } from './preview-dialog.tsx';

interface Props {
  tenant: string;
  target: RestoreTarget;
  /** The restored file, directory, or memory in words. */
  what: string;
  onClose: () => void;
}

/** Previews a restore, and applies it on confirmation. */
export function RestoreDialog({ tenant, target, what, onClose }: Props) {
  const isWhole = !('version' in target) && target.path === undefined;
  return (
    <PreviewDialog
      tenant={tenant}
      title="Restore"
      verb="Restore"
      doing="Restoring"
      request={(plan) => restoration(tenant, target, plan)}
      target={target}
      done={`Restored ${what}`}
      onDone={() => replaceQuery({ at: null })}
      onClose={onClose}
    >
      <p class="clamped" title={what}>
        Restores {isWhole ? '' : 'only '}
        <bdi>{what}</bdi>.
      </p>
      <p>{isWhole ? 'Mounted memories' : 'Other files'} stay unchanged. You can undo the restore.</p>
    </PreviewDialog>
  );
}
