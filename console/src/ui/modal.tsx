import type { ComponentChildren } from 'preact';
import { useId, useLayoutEffect, useRef } from 'preact/hooks';

export interface ModalProps {
  title: string;
  children: ComponentChildren;
  /** Called when the user closes the dialog. */
  onClose: () => void;
  isWide?: boolean;
}

/** Modal dialog. The browser keeps the focus inside, and Escape calls `onClose`. */
export function Modal({ title, children, onClose, isWide = false }: ModalProps) {
  const dialog = useRef<HTMLDialogElement>(null);
  const titleId = useId();
  // A layout effect opens the dialog before the next key press can reach the page below.
  useLayoutEffect(() => {
    const opened = dialog.current;
    opened?.showModal();
    // Closing the dialog returns the focus to the element that opened it.
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
        // Without this, the browser closes the dialog on a second Escape, even if `cancel` was prevented.
        if (event.key !== 'Escape' || event.defaultPrevented) return;
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
