import { useState } from 'preact/hooks';
import type { Key } from '../../api/api-types.ts';
import { session } from '../../api/session-state.ts';
import { CopyButton } from '../../ui/copy-button.tsx';
import { Segmented } from '../../ui/segmented.tsx';
import { createSnippets, enteredUrl, findServiceUrl, type MemoryInput, VIEW } from './snippets.ts';

interface Props {
  apiKey: Pick<Key, 'kind' | 'tenant'>;
  secret: string;
  /** The request's command. */
  input?: MemoryInput;
  /** Whether to show only requests, without settings. */
  isRequest?: boolean;
  onCopied?: () => void;
}

/** Settings and code for a key's user, ready to copy. An entered URL also applies to other snippets. */
export function KeySnippets({ apiKey, secret, input = VIEW, isRequest = false, onCopied }: Props) {
  const info = session.value;
  const isAdmin = apiKey.kind === 'admin';
  const [adminUrl, setAdminUrl] = useState(consoleUrl);
  const [title, setTitle] = useState<string | null>(null);
  if (info === null && !isAdmin) return null;
  const serviceUrl = info === null ? '' : (enteredUrl.value ?? findServiceUrl(info, location));
  const url = isAdmin ? adminUrl : serviceUrl;
  const enter = (text: string) => {
    if (isAdmin) setAdminUrl(text);
    else enteredUrl.value = text;
  };
  const snippets = createSnippets(apiKey, secret, url, input).slice(isRequest ? 1 : 0);
  const shown = snippets.find((each) => each.title === title) ?? snippets[0];
  if (shown === undefined) return null;
  const isGuess = !isAdmin && info?.service_url === null;
  return (
    <>
      <label>
        URL of the {isAdmin ? 'admin API' : 'service'}
        <input value={url} spellcheck={false} onInput={(event) => enter(event.currentTarget.value)} />
        <span class="hint">
          As the user of the key reaches it. Used in the text below.
          {isGuess && ' A guess: to show the right one to everybody, set PUBLIC_URL.'}
        </span>
      </label>
      <div class="controls spread">
        <Segmented
          label="Text to hand over"
          options={snippets.map((each) => [each.title, each.title] as const)}
          value={shown.title}
          onChange={setTitle}
        />
        <CopyButton
          key={shown.title}
          text={shown.code}
          what="the text"
          isLarge
          {...(onCopied && { onCopied })}
        />
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
