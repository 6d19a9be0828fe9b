import { fromLocal, toLocal } from '../text/local-time.ts';

interface Props {
  label: string;
  /** Text beside the label while the field is empty. */
  fallback?: string;
  value: string | null;
  onChange: (time: string | null) => void;
  isRequired?: boolean;
  /** Whether the field selects minutes instead of seconds. */
  isCoarse?: boolean;
}

/** Field for a time in seconds, in the user's time zone. A more exact value is kept until the user edits it. */
export function TimeField({ label, fallback, value, onChange, isRequired = false, isCoarse = false }: Props) {
  return (
    <label class="time-field">
      <span>
        {label}
        {value === null && fallback !== undefined && <span class="muted"> ({fallback})</span>}
      </span>
      <input
        type="datetime-local"
        step={isCoarse ? 60 : 1}
        required={isRequired}
        value={value === null ? '' : toLocal(value).slice(0, isCoarse ? 16 : undefined)}
        onInput={(event) => {
          const time = fromLocal(event.currentTarget.value);
          // A date that is being typed is incomplete, which does not mean that the user cleared it.
          if (time !== null || event.currentTarget.validity.valid) onChange(time);
        }}
      />
    </label>
  );
}
