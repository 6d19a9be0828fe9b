import type { ComponentChildren, TextareaHTMLAttributes } from 'preact';
import { Options } from './options.tsx';

interface FieldProps<Value> {
  label: ComponentChildren;
  hint?: ComponentChildren;
  /** The label's class. */
  class?: string;
  value: Value;
  onChange: (value: Value) => void;
}

type TextAttribute =
  | 'autocomplete'
  | 'autofocus'
  | 'inputMode'
  | 'maxLength'
  | 'placeholder'
  | 'required'
  | 'spellcheck';
type TextAttributes = Pick<TextareaHTMLAttributes<HTMLTextAreaElement>, TextAttribute>;
interface TextProps extends FieldProps<string>, TextAttributes {}

export function TextField({ label, hint, class: name, onChange, ...attributes }: TextProps) {
  return (
    <label class={name}>
      {label}
      <input {...attributes} onInput={(event) => onChange(event.currentTarget.value)} />
      {hint && <span class="hint">{hint}</span>}
    </label>
  );
}

/** Field for a text with several lines. */
export function TextArea({
  label,
  hint,
  class: name,
  onChange,
  ...attributes
}: TextProps & { rows: number }) {
  return (
    <label class={name}>
      {label}
      <textarea {...attributes} onInput={(event) => onChange(event.currentTarget.value)} />
      {hint && <span class="hint">{hint}</span>}
    </label>
  );
}

interface SelectProps<Value> extends FieldProps<Value> {
  /** Labels for the values, in the order of the options. */
  texts: Record<string, string>;
  autofocus?: boolean;
}

export function SelectField<Value extends string>(props: SelectProps<Value>) {
  const { label, hint, class: name, texts, onChange, ...attributes } = props;
  return (
    <label class={name}>
      {label}
      <select {...attributes} onChange={(event) => onChange(event.currentTarget.value as Value)}>
        <Options texts={texts} />
      </select>
      {hint && <span class="hint">{hint}</span>}
    </label>
  );
}

interface CheckProps {
  checked: boolean;
  onChange: (checked: boolean) => void;
  /** The label. */
  children: ComponentChildren;
}

export function CheckField({ checked, onChange, children }: CheckProps) {
  return (
    <label class="check">
      <input type="checkbox" checked={checked} onChange={(event) => onChange(event.currentTarget.checked)} />
      {children}
    </label>
  );
}
