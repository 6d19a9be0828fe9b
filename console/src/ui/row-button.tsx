import type { ComponentChildren } from 'preact';

interface Props {
  /** Name of the row's item, which only a screen reader reads. */
  of: string;
  class?: string;
  onClick: () => void;
  children: ComponentChildren;
}

/** A button in a row. Each row has a button with this text. */
export function RowButton({ of: name, class: look = 'quiet', onClick, children }: Props) {
  return (
    <button type="button" class={look} onClick={onClick}>
      {children}
      <span class="visually-hidden"> {name}</span>
    </button>
  );
}
