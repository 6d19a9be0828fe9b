import type { ComponentChildren } from 'preact';
import { useEffect, useId, useRef } from 'preact/hooks';
import { ErrorText } from './messages.tsx';
import type { Action } from './use-load.ts';
import { WorkProgress } from './work-progress.tsx';

interface Props {
  title: string;
  children: ComponentChildren;
  onClose: () => void;
  isWide?: boolean;
}

/** A modal dialog: the browser keeps the focus inside, and Escape closes it. */
export function Dialog({ title, children, onClose, isWide = false }: Props) {
  const dialog = useRef<HTMLDialogElement>(null);
  const titleId = useId();
  useEffect(() => {
    const opener = document.activeElement;
    dialog.current?.showModal();
    return () => {
      if (opener instanceof HTMLElement) opener.focus();
    };
  }, []);
  return (
    <dialog ref={dialog} class={isWide ? 'wide' : ''} aria-labelledby={titleId} onClose={onClose}>
      <header>
        <h2 id={titleId}>{title}</h2>
      </header>
      {children}
    </dialog>
  );
}

interface FormProps extends Props {
  /** What the button says that does it. */
  verb: string;
  isDangerous?: boolean;
  isReady?: boolean;
  /** Says what goes on meanwhile, where it may take long. */
  doing?: string;
  action: Action;
  onSubmit: () => void;
}

/** A dialog that does something: its form, the error when that fails, and the buttons. */
export function FormDialog({
  verb,
  isDangerous,
  isReady = true,
  doing,
  action,
  onSubmit,
  ...props
}: FormProps) {
  return (
    <Dialog {...props}>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          if (isReady && !action.isRunning) onSubmit();
        }}
      >
        <div class="dialog-body">
          {props.children}
          <ErrorText message={action.error} />
          {action.isRunning && <WorkProgress what={doing ?? `${verb}: in progress`} fraction={null} />}
        </div>
        <footer>
          <button type="button" onClick={props.onClose}>
            Cancel
          </button>
          <button
            type="submit"
            class={isDangerous ? 'danger' : 'primary'}
            disabled={!isReady || action.isRunning}
          >
            {verb}
          </button>
        </footer>
      </form>
    </Dialog>
  );
}
