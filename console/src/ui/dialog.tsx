import type { ComponentChildren } from 'preact';
import { Button } from './button.tsx';
import { confirm, DISCARD } from './confirm.tsx';
import { CopyAs, type Requests } from './copy-as.tsx';
import { Modal, type ModalProps } from './modal.tsx';
import { ErrorText } from './status-messages.tsx';
import { useUnsaved } from './unsaved.ts';
import { type Action, useAction } from './use-load.ts';
import { WorkProgress } from './work-progress.tsx';

interface Props extends ModalProps {
  /** Label for the submit button. */
  verb: string;
  isDangerous?: boolean;
  isReady?: boolean;
  /** Whether closing the dialog would discard input. */
  hasInput?: boolean;
  /** Progress message for a slow action. */
  doing?: string;
  /** A slow action's completed part from 0 to 1, or null if unknown. */
  fraction?: number | null;
  /** The action's requests, which the dialog offers as commands. Undefined while input is missing. */
  request?: Requests | undefined;
  action: Action;
  onSubmit: () => void;
}

/** Dialog with a form, the action's error, and the buttons. */
export function FormDialog({
  verb,
  isDangerous,
  isReady = true,
  hasInput = false,
  doing,
  fraction = null,
  request,
  action,
  onSubmit,
  ...props
}: Props) {
  useUnsaved(hasInput && !action.isRunning);
  const close = async () => {
    if (!hasInput || (await confirm(DISCARD))) props.onClose();
  };
  return (
    <Modal {...props} onClose={close}>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          if (isReady && !action.isRunning) onSubmit();
        }}
      >
        <div class="dialog-body">{props.children}</div>
        <DialogEnd>
          <ErrorText message={action.error} />
          {action.isRunning && <WorkProgress what={doing ?? `${verb}: in progress`} fraction={fraction} />}
          <footer>
            {request && isReady && <CopyAs request={request} />}
            <div class="buttons">
              <Button text="Cancel" onClick={close} />
              <button
                type="submit"
                class={isDangerous ? 'danger' : 'primary'}
                disabled={!isReady || action.isRunning}
              >
                {verb}
              </button>
            </div>
          </footer>
        </DialogEnd>
      </form>
    </Modal>
  );
}

interface ActionProps extends Omit<Props, 'action' | 'onSubmit'> {
  /** Throws an error whose message the dialog shows. */
  onSubmit: (signal: AbortSignal) => Promise<void>;
}

/** Dialog with a form for one action, which the dialog runs. */
export function ActionDialog({ onSubmit, ...props }: ActionProps) {
  const action = useAction();
  return <FormDialog {...props} action={action} onSubmit={() => action.run(onSubmit)} />;
}

/** A dialog's error, progress, and buttons, which remain visible while a long dialog scrolls. */
export function DialogEnd({ children }: { children: ComponentChildren }) {
  return <div class="dialog-end">{children}</div>;
}
