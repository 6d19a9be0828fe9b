import type { ComponentChildren, TargetedKeyboardEvent } from 'preact';
import { useId, useState } from 'preact/hooks';

interface Field {
  id?: string;
  placeholder: string;
  required?: boolean;
  autofocus?: boolean;
  'aria-label'?: string;
}

interface Props<Option> extends Field {
  value: string;
  onInput: (value: string) => void;
  options: readonly Option[];
  /** Accessible name of the list. */
  title: string;
  onChoose: (option: Option) => void;
  /** Whether the list stays open, with its first option active. By default, it opens below the field. */
  isOpen?: boolean;
  /** An option's content. */
  children: (option: Option) => ComponentChildren;
}

/** Text field with a list of options, as in the combobox pattern of the ARIA Authoring Practices. */
export function Combobox<Option>(props: Props<Option>) {
  const { value, onInput, options, title, onChoose, isOpen = false, children, ...field } = props;
  const [wasOpened, setWasOpened] = useState(false);
  const [active, setActive] = useState(-1);
  const listId = useId();
  const isShown = (isOpen || wasOpened) && options.length > 0;
  const selected = Math.min(isOpen ? Math.max(active, 0) : active, options.length - 1);
  const toId = (index: number) => `${listId}-${index}`;
  const reset = (isReopened: boolean) => {
    setWasOpened(isReopened);
    setActive(-1);
  };
  const choose = (option: Option) => {
    reset(false);
    onChoose(option);
  };
  const onKeyDown = (event: TargetedKeyboardEvent<HTMLInputElement>) => {
    const step = event.key === 'ArrowDown' ? 1 : event.key === 'ArrowUp' ? -1 : 0;
    const chosen = options[selected];
    if (step !== 0 && options.length > 0) {
      setWasOpened(true);
      setActive(isShown && selected >= 0 ? (selected + step + options.length) % options.length : 0);
    } else if (event.key === 'Enter' && isShown && chosen !== undefined) choose(chosen);
    else if (event.key === 'Escape' && isShown && !isOpen) {
      // Closes the list, and not the dialog.
      event.stopPropagation();
      reset(false);
    } else return;
    event.preventDefault();
  };
  return (
    <div class="combobox">
      <input
        spellcheck={false}
        autocomplete="off"
        {...field}
        role="combobox"
        aria-expanded={isShown}
        aria-controls={listId}
        aria-autocomplete="list"
        aria-activedescendant={isShown && selected >= 0 ? toId(selected) : undefined}
        value={value}
        onInput={(event) => {
          reset(true);
          onInput(event.currentTarget.value);
        }}
        onClick={() => setWasOpened(true)}
        onKeyDown={onKeyDown}
        onBlur={() => reset(false)}
      />
      <div id={listId} class="suggestions" role="listbox" aria-label={title} hidden={!isShown}>
        {isShown &&
          options.map((option, index) => (
            // biome-ignore lint/a11y/useFocusableInteractive: the field keeps the focus and names the active option.
            // biome-ignore lint/a11y/useKeyWithClickEvents: the field handles the keys.
            <div
              key={toId(index)}
              id={toId(index)}
              role="option"
              aria-selected={index === selected}
              ref={(element) => {
                if (index === selected) element?.scrollIntoView({ block: 'nearest' });
              }}
              // The field keeps the focus.
              onMouseDown={(event) => event.preventDefault()}
              onClick={() => choose(option)}
            >
              {children(option)}
            </div>
          ))}
      </div>
    </div>
  );
}
