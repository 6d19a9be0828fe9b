import { SelectField, TextField } from '../../ui/fields.tsx';
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
    <TextField
      label="Label"
      hint={hint}
      autofocus
      maxLength={255}
      placeholder="The program or person that uses the key"
      value={value}
      onChange={onChange}
    />
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
      <SelectField
        label="Expires"
        hint={hint}
        texts={EXPIRIES}
        value={expires}
        onChange={(chosen) => onChange({ expires: chosen })}
      />
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
