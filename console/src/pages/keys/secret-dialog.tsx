import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import { CopyButton } from '../../ui/copy.tsx';
import { Modal } from '../../ui/modal.tsx';
import { useUnsaved } from '../../ui/unsaved.ts';

interface Props {
  title: string;
  secret: string;
  children?: ComponentChildren;
  onClose: () => void;
}

const LEAVE = {
  title: 'Leave without the key?',
  text: 'You have not copied it, and it is not shown again.',
  verb: 'Leave',
  otherwise: 'Stay',
  isDangerous: true,
};

/** Shows a secret once. Until the secret is copied, closing the dialog or leaving the page asks first. */
export function SecretDialog({ title, secret, children, onClose }: Props) {
  const [isCopied, setIsCopied] = useState(false);
  const [isReminded, setIsReminded] = useState(false);
  useUnsaved(!isCopied, LEAVE);
  const close = () => (isCopied ? onClose() : setIsReminded(true));
  return (
    <Modal title={title} onClose={close}>
      <div class="dialog-body">
        <p>Copy it now: it is shown only once.</p>
        <div class="secret">
          <input
            class="code"
            readOnly
            autofocus
            aria-label="The key"
            value={secret}
            onFocus={(event) => event.currentTarget.select()}
            onCopy={() => setIsCopied(true)}
          />
          <CopyButton text={secret} what="the key" isLarge onCopied={() => setIsCopied(true)} />
        </div>
        {children}
        {isReminded && !isCopied && (
          <p class="notice warning" role="alert">
            You have not copied the key. To close without it, choose Done.
          </p>
        )}
      </div>
      <footer>
        <button type="button" class="primary" onClick={onClose}>
          Done
        </button>
      </footer>
    </Modal>
  );
}
