import type { ComponentChildren } from 'preact';
import { useId, useLayoutEffect, useRef } from 'preact/hooks';

export interface ModalProps {
  title: string;
  children: ComponentChildren;
  /** Called when the person wants to close it. */
  onClose: () => void;
  isWide?: boolean;
}

/** A modal dialog: the browser keeps the focus inside, and Escape asks to close it. */
export function Modal({ title, children, onClose, isWide = false }: ModalProps) {
  const dialog = useRef<HTMLDialogElement>(null);
  const titleId = useId();
  // Before anything else happens, so that the next key does not go to the page below.
  useLayoutEffect(() => {
    const opened = dialog.current;
    opened?.showModal();
    // Closing it gives the focus back to what opened it; without, that cannot have the focus while the dialog is there.
    return () => opened?.close();
  }, []);
  return (
    <dialog
      ref={dialog}
      class={isWide ? 'wide' : ''}
      aria-labelledby={titleId}
      onCancel={(event) => {
        event.preventDefault();
        onClose();
      }}
      onKeyDown={(event) => {
        // The browser would close it the second time, whatever `cancel` says.
        if (event.key !== 'Escape') return;
        event.preventDefault();
        event.stopPropagation();
        onClose();
      }}
    >
      <header>
        <h2 id={titleId}>{title}</h2>
      </header>
      {children}
    </dialog>
  );
}
