interface Props {
  text: string;
  /** Name of the row's item, which only a screen reader reads. */
  of: string;
  class?: string;
  onClick: () => void;
}

/** A button in a row. Each row has a button with this text. */
export function RowButton({ text, of: name, class: look = 'quiet', onClick }: Props) {
  return (
    <button type="button" class={look} onClick={onClick}>
      {text}
      <span class="visually-hidden"> {name}</span>
    </button>
  );
}
