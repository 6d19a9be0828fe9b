import { useState } from 'preact/hooks';
import { Icon } from './icon.tsx';

interface Props {
  /** A function makes the text on a click. */
  text: string | (() => string);
  /** Name for the copied text, such as "the path". */
  what: string;
  /** Whether the button shows a label beside the icon. */
  isLarge?: boolean;
  /** Label for a large button. */
  label?: string;
  onCopied?: () => void;
}

/** Copies a text that the page may show truncated. */
export function CopyButton({ text, what, isLarge = false, label: shown = 'Copy', onCopied }: Props) {
  const [state, setState] = useState<'copied' | 'failed' | null>(null);
  const copy = async () => {
    const isCopied = await copyText(typeof text === 'string' ? text : text());
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
      {isLarge && (state === null ? shown : label)}
    </button>
  );
}

/**
 * Copies a text, and returns whether it is in the clipboard. Browsers provide `navigator.clipboard` only over TLS or on
 * localhost.
 */
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
  // In a modal dialog, only the dialog's elements can have the focus.
  (document.querySelector('dialog[open]') ?? document.body).append(field);
  field.select();
  const isCopied = document.execCommand('copy');
  field.remove();
  return isCopied;
}
