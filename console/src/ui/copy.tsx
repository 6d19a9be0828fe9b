import { useState } from 'preact/hooks';
import { Icon } from './icon.tsx';

interface Props {
  text: string;
  /** What is copied, in words. */
  what: string;
  /** With a word beside the icon. */
  isLarge?: boolean;
  onCopied?: () => void;
}

/** Copies a text that may be cut on the page. */
export function CopyButton({ text, what, isLarge = false, onCopied }: Props) {
  const [state, setState] = useState<'copied' | 'failed' | null>(null);
  const copy = async () => {
    const isCopied = await copyText(text);
    setState(isCopied ? 'copied' : 'failed');
    if (isCopied) onCopied?.();
  };
  const label = state === 'copied' ? 'Copied' : state === 'failed' ? 'Not copied' : `Copy ${what}`;
  return (
    <button
      type="button"
      class={isLarge ? 'copy' : 'copy icon-button quiet'}
      title={label}
      aria-label={label}
      onClick={copy}
      onBlur={() => setState(null)}
    >
      <Icon name={state === 'copied' ? 'check' : 'copy'} />
      {isLarge && (state === null ? 'Copy' : label)}
    </button>
  );
}

/** Whether it is in the clipboard. Browsers offer the clipboard only to pages that came by TLS or from this machine. */
async function copyText(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return copySelection(text);
  }
}

function copySelection(text: string): boolean {
  const field = document.createElement('textarea');
  field.value = text;
  // Inside a modal dialog nothing else can have the focus.
  (document.querySelector('dialog[open]') ?? document.body).append(field);
  field.select();
  const isCopied = document.execCommand('copy');
  field.remove();
  return isCopied;
}
