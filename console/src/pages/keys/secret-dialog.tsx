import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import type { Key } from '../../api/api-types.ts';
import { Button } from '../../ui/button.tsx';
import { LEAVE } from '../../ui/confirm.tsx';
import { CopyButton } from '../../ui/copy-button.tsx';
import { Modal } from '../../ui/modal.tsx';
import { useUnsaved } from '../../ui/unsaved.ts';
import { KeySnippets } from './key-snippets.tsx';
import { HELLO, VIEW } from './snippets.ts';

interface Props {
  title: string;
  /** Noun for the secret. */
  name?: string;
  secret: string;
  /** The key to show settings and code for. */
  apiKey?: Pick<Key, 'kind' | 'tenant' | 'access'>;
  children?: ComponentChildren;
  onClose: () => void;
}

const TEXT = 'You have not copied it, and it is not shown again.';

/** Shows a secret once. Until the secret is copied, closing the dialog or leaving the page asks first. */
export function SecretDialog({ title, name = 'key', secret, apiKey, children, onClose }: Props) {
  const [isCopied, setIsCopied] = useState(false);
  const [isReminded, setIsReminded] = useState(false);
  useUnsaved(!isCopied, { ...LEAVE, title: `Leave without the ${name}?`, text: TEXT });
  const close = () => (isCopied ? onClose() : setIsReminded(true));
  return (
    <Modal title={title} isWide onClose={close}>
      <div class="dialog-body">
        <p>Copy it now: it is shown only once.</p>
        <div class="controls secret">
          <input
            class="code"
            readOnly
            autofocus
            aria-label={`The ${name}`}
            value={secret}
            onFocus={(event) => event.currentTarget.select()}
            onCopy={() => setIsCopied(true)}
          />
          <CopyButton text={secret} what={`the ${name}`} isLarge onCopied={() => setIsCopied(true)} />
        </div>
        {apiKey && (
          <KeySnippets
            apiKey={apiKey}
            secret={secret}
            input={apiKey.access === 'read_only' ? VIEW : HELLO}
            onCopied={() => setIsCopied(true)}
          />
        )}
        {children}
        {isReminded && !isCopied && (
          <p class="notice warning" role="alert">
            You have not copied the {name}. To close without it, choose Done.
          </p>
        )}
      </div>
      <footer>
        <Button text="Done" class="primary" onClick={onClose} />
      </footer>
    </Modal>
  );
}
