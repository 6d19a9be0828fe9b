import { Options } from '../../ui/options.tsx';
import { TimeField } from '../../ui/time-field.tsx';
import { EXPIRIES, type Expiry } from './new-key.ts';

/* Fields that can be changed after a key was created. */

interface LabelProps {
  value: string;
  hint: string;
  onChange: (label: string) => void;
}

export function LabelField({ value, hint, onChange }: LabelProps) {
  return (
    <label>
      Label
      <input
        autofocus
        maxLength={255}
        placeholder="The program or person that uses the key"
        value={value}
        onInput={(event) => onChange(event.currentTarget.value)}
      />
      <span class="hint">{hint}</span>
    </label>
  );
}

interface ExpiryProps {
  expiry: Expiry;
  hint?: string;
  onChange: (changes: Partial<Expiry>) => void;
}

export function ExpiryFields({ expiry: { expires, expiresAt }, hint, onChange }: ExpiryProps) {
  return (
    <>
      <label>
        Expires
        <select value={expires} onChange={(event) => onChange({ expires: event.currentTarget.value })}>
          <Options texts={EXPIRIES} />
        </select>
        {hint && <span class="hint">{hint}</span>}
      </label>
      {expires === 'at' && (
        <TimeField
          label="Expires at"
          isRequired
          isCoarse
          value={expiresAt}
          onChange={(time) => onChange({ expiresAt: time })}
        />
      )}
    </>
  );
}
