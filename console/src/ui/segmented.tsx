interface Props<T extends string> {
  label: string;
  options: readonly (readonly [T, string])[];
  /** Null: nothing is chosen yet. */
  value: T | null;
  onChange: (value: T) => void;
}

/** A choice of a few, all in view. */
export function Segmented<T extends string>({ label, options, value, onChange }: Props<T>) {
  return (
    <fieldset class="segmented">
      <legend class="visually-hidden">{label}</legend>
      {options.map(([option, text]) => (
        <button key={option} type="button" aria-pressed={option === value} onClick={() => onChange(option)}>
          {text}
        </button>
      ))}
    </fieldset>
  );
}
