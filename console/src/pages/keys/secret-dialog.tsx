import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import type { Key } from '../../api/api-types.ts';
import { session } from '../../api/session-state.ts';
import { CopyButton } from '../../ui/copy-button.tsx';
import { Modal } from '../../ui/modal.tsx';
import { Segmented } from '../../ui/segmented.tsx';
import { useUnsaved } from '../../ui/unsaved.ts';
import { createSnippets, findServiceUrl } from './snippets.ts';

interface Props {
  title: string;
  /** Noun for the secret. */
  name?: string;
  secret: string;
  /** The key to show settings and code for. */
  apiKey?: Pick<Key, 'kind' | 'tenant'>;
  children?: ComponentChildren;
  onClose: () => void;
}

const LEAVE = {
  text: 'You have not copied it, and it is not shown again.',
  verb: 'Leave',
  otherwise: 'Stay',
  isDangerous: true,
};

/** Shows a secret once. Until the secret is copied, closing the dialog or leaving the page asks first. */
export function SecretDialog({ title, name = 'key', secret, apiKey, children, onClose }: Props) {
  const [isCopied, setIsCopied] = useState(false);
  const [isReminded, setIsReminded] = useState(false);
  useUnsaved(!isCopied, { ...LEAVE, title: `Leave without the ${name}?` });
  const close = () => (isCopied ? onClose() : setIsReminded(true));
  return (
    <Modal title={title} isWide onClose={close}>
      <div class="dialog-body">
        <p>Copy it now: it is shown only once.</p>
        <div class="secret">
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
        {children}
        {apiKey && <KeySnippets apiKey={apiKey} secret={secret} onCopied={() => setIsCopied(true)} />}
        {isReminded && !isCopied && (
          <p class="notice warning" role="alert">
            You have not copied the {name}. To close without it, choose Done.
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

interface KeySnippetsProps extends Required<Pick<Props, 'apiKey' | 'secret'>> {
  onCopied: () => void;
}

/** Settings and code for the key's user, ready to copy. */
function KeySnippets({ apiKey, secret, onCopied }: KeySnippetsProps) {
  const info = session.value;
  const [url, setUrl] = useState(
    apiKey.kind === 'admin' || info === null ? consoleUrl() : findServiceUrl(info, location),
  );
  const [title, setTitle] = useState<string | null>(null);
  const snippets = createSnippets(apiKey, secret, url);
  const shown = snippets.find((each) => each.title === title) ?? snippets[0];
  if (shown === undefined) return null;
  return (
    <>
      <label>
        URL of the {apiKey.kind === 'admin' ? 'admin API' : 'service'}
        <input value={url} spellcheck={false} onInput={(event) => setUrl(event.currentTarget.value)} />
        <span class="hint">As the user of the key reaches it. Used in the text below.</span>
      </label>
      <div class="hand-over">
        <Segmented
          label="Text to hand over"
          options={snippets.map((each) => [each.title, each.title] as const)}
          value={shown.title}
          onChange={setTitle}
        />
        <CopyButton key={shown.title} text={shown.code} what="the text" isLarge onCopied={onCopied} />
      </div>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls, and without the focus the keyboard cannot scroll it. */}
      <pre class="code snippet" tabIndex={0}>
        {shown.code}
      </pre>
    </>
  );
}

/** Returns the console's URL, without a slash at its end. A proxy may serve the console below a prefix. */
const consoleUrl = () => (location.origin + location.pathname).replace(/\/$/, '');
