import { fromLocal, toLocal } from '../text/local-time.ts';

interface Props {
  label: string;
  /** Said beside the label while there is no value. */
  fallback?: string;
  value: string | null;
  onChange: (moment: string | null) => void;
  isRequired?: boolean;
  /** Whether it is enough to choose a minute. */
  isCoarse?: boolean;
}

/** A moment to the second, in the person's time zone. A more exact one stays until it is edited. */
export function MomentField({
  label,
  fallback,
  value,
  onChange,
  isRequired = false,
  isCoarse = false,
}: Props) {
  return (
    <label class="moment-field">
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
          const moment = fromLocal(event.currentTarget.value);
          // While it is typed, a date is incomplete, which is no wish for none.
          if (moment !== null || event.currentTarget.validity.valid) onChange(moment);
        }}
      />
    </label>
  );
}
