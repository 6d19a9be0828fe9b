import { useState } from 'preact/hooks';
import { ApiError, errorMessage } from '../../api/api-client.ts';
import { noteChange } from '../../api/change-signals.ts';
import {
  type Comparison,
  closeDraft,
  type DraftChange,
  mergeDraft,
  rejection,
  replaceByDraft,
  replacement,
} from '../../api/drafts-api.ts';
import type { MergedDraft } from '../../api/schema.ts';
import { canWrite } from '../../api/session-state.ts';
import { toHref } from '../../router.ts';
import { count } from '../../text/format.ts';
import { ActionDialog } from '../../ui/dialog.tsx';
import { Icon } from '../../ui/icon.tsx';
import { ErrorText } from '../../ui/status-messages.tsx';
import { toast } from '../../ui/toasts.ts';
import { useAction } from '../../ui/use-load.ts';
import { WorkProgress } from '../../ui/work-progress.tsx';
import { createUndo } from '../history/undo-changes.ts';
import {
  forgetResolutions,
  type Resolutions,
  toResolutionInputs,
  unresolvedChanges,
} from './kept-resolutions.ts';
import { forgetViewed } from './viewed.ts';

interface Props {
  comparison: Comparison;
  resolutions: Resolutions;
  /** Whether a new comparison is loading. */
  isLoading: boolean;
  /** Opens the next file to resolve. */
  onNext: () => void;
  onStart: () => void;
  /** Called with the service's message if a merge is rejected because the review is outdated. */
  onRejected: (message: string) => void;
}

/**
 * Buttons to merge a draft as reviewed, to replace the original, or to reject the draft. A read-only key can only open
 * the draft.
 */
export function ReviewActions({ comparison, resolutions, isLoading, onNext, onStart, onRejected }: Props) {
  const { draft, review, changes } = comparison;
  const { tenant, id } = draft;
  const [dialog, setDialog] = useState<'replace' | 'reject' | null>(null);
  const merging = useAction();
  const open = unresolvedChanges(changes, resolutions);
  const ofDraft = changes.filter(({ in_draft }) => in_draft !== null).length;
  const merge = () =>
    merging.run(async () => {
      onStart();
      try {
        const done = await mergeDraft(tenant, id, review, toResolutionInputs(changes, resolutions));
        forgetReview(draft.id);
        noteChange();
        toast(`Merged ${draft.title}: ${count(done.files.length, 'file')} changed.`, createMergeUndo(done));
      } catch (error) {
        if (!isStale(error)) throw error;
        onRejected(errorMessage(error));
      }
    });
  const onClose = () => setDialog(null);
  return (
    <>
      <div class="toolbar review-actions" role="toolbar" aria-label="Review">
        {canWrite.value && (
          <>
            <button
              type="button"
              class="primary"
              disabled={merging.isRunning || isLoading || open.length > 0}
              onClick={merge}
            >
              <Icon name="check" /> Approve and merge
            </button>
            <span class="to-resolve" role="status">
              {open.length > 0 && (
                <button type="button" class="quiet" title="Open the next conflict" onClick={onNext}>
                  <Icon name="warning" /> {leftText(open)}
                </button>
              )}
            </span>
            <button
              type="button"
              disabled={merging.isRunning || isLoading}
              onClick={() => setDialog('replace')}
            >
              Replace…
            </button>
            <button
              type="button"
              class="danger-quiet"
              disabled={merging.isRunning}
              onClick={() => setDialog('reject')}
            >
              Reject…
            </button>
          </>
        )}
        <a class="button" href={toHref(['tenants', id])}>
          <Icon name="directory" /> Open the draft
        </a>
      </div>
      <ErrorText message={merging.error} />
      {merging.isRunning && <WorkProgress what={`Merging ${count(ofDraft, 'file')}`} fraction={null} />}
      {dialog === 'replace' && (
        <ReplaceDialog comparison={comparison} onClose={onClose} onStart={onStart} onRejected={onRejected} />
      )}
      {dialog === 'reject' && <RejectDialog comparison={comparison} onClose={onClose} />}
    </>
  );
}

/** Counts the files to resolve. A file without a conflict is among them if it changed since it was resolved. */
const leftText = (open: readonly DraftChange[]) =>
  `${count(open.length, open.every(({ conflict }) => conflict !== null) ? 'conflict' : 'file')} left`;

const createMergeUndo = ({ draft, merged_at }: MergedDraft) =>
  createUndo(draft.tenant, { changed_at: merged_at }, draft.id);

/** Discards the choices and marks for a closed draft. */
function forgetReview(draft: string): void {
  forgetResolutions();
  forgetViewed(draft);
}

const isStale = (error: unknown) => error instanceof ApiError && error.status === 412;

type DialogProps = Pick<Props, 'comparison'> & { onClose: () => void };

function ReplaceDialog(props: DialogProps & Pick<Props, 'onStart' | 'onRejected'>) {
  const { comparison, onClose, onStart, onRejected } = props;
  const { draft, review, counts } = comparison;
  const lost = counts.original + counts.both;
  const replace = async () => {
    onStart();
    try {
      const done = await replaceByDraft(draft.tenant, draft.id, review);
      forgetReview(draft.id);
      noteChange();
      toast(`Replaced the memory with ${draft.title}.`, createMergeUndo(done));
    } catch (error) {
      if (!isStale(error)) throw error;
      onRejected(errorMessage(error));
    }
    onClose();
  };
  return (
    <ActionDialog
      title="Replace the memory with the draft?"
      verb="Replace"
      isDangerous
      doing="Replacing the memory"
      onClose={onClose}
      request={replacement(draft.tenant, draft.id, review)}
      onSubmit={replace}
    >
      <p>
        The memory becomes identical to the draft, and the draft is closed. Your resolutions of files have no
        effect.
      </p>
      {lost > 0 && (
        <p class="notice warning">
          Changes made in the memory since the draft began are undone: {count(lost, 'file')}.
        </p>
      )}
      <p>
        If the draft or the memory changes before that, the memory is left unchanged. You can undo the
        replacement.
      </p>
    </ActionDialog>
  );
}

function RejectDialog({ comparison: { draft }, onClose }: DialogProps) {
  const reject = async () => {
    await closeDraft(draft.tenant, draft.id);
    forgetReview(draft.id);
    noteChange();
    toast(`Rejected ${draft.title}.`);
    onClose();
  };
  return (
    <ActionDialog
      title="Reject the draft?"
      verb="Reject"
      isDangerous
      onClose={onClose}
      request={rejection(draft.tenant, draft.id)}
      onSubmit={reject}
    >
      <p>
        <bdi>{draft.title}</bdi> is closed, and its files are deleted. Only a record of it remains. This
        cannot be undone.
      </p>
    </ActionDialog>
  );
}
