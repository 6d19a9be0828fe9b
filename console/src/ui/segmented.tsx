interface Props<T extends string> {
  label: string;
  options: readonly (readonly [T, string])[];
  /** The selected option, or null before a selection. */
  value: T | null;
  onChange: (value: T) => void;
}

/** Buttons that select one of a few options. */
export function Segmented<T extends string>({ label, options, value, onChange }: Props<T>) {
  return (
    <fieldset class="segmented">
      <legend class="visually-hidden">{label}</legend>
      {options.map(([option, text]) => (
        <button
          key={option}
          type="button"
          aria-pressed={option === value}
          // A double click's second click could hit another item's buttons, which the first click opened.
          onClick={({ detail }) => detail < 2 && onChange(option)}
        >
          {text}
        </button>
      ))}
    </fieldset>
  );
}
