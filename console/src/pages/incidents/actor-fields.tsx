import { SelectField } from '../../ui/fields.tsx';
import { TimeField } from '../../ui/time-field.tsx';
import type { FormInput } from './form-input.ts';

const KINDS = { by: 'Actor', source: 'Source' };
const HINTS = {
  by: 'ID or label of a key, subject of a token, name of an operator',
  source: 'Source of the keys, such as web',
};
const SPANS = { '1h': 'Last hour', '1d': 'Last day', '7d': 'Last 7 days', '30d': 'Last 30 days' };
const AT = 'at';

type Fields = Pick<FormInput, 'actorKind' | 'actor' | 'since'>;

interface Props {
  input: Fields;
  onChange: (changes: Partial<Fields>) => void;
  /** Label for the option without a start time. Without a label, a time is required. */
  always?: string;
  isFocused?: boolean;
}

/** Fields for an actor or a source, and for a period's start. */
export function ActorFields({ input, onChange, always, isFocused = false }: Props) {
  const { actorKind, actor, since } = input;
  return (
    <div class="fields">
      <SelectField
        label="By"
        texts={KINDS}
        value={actorKind}
        onChange={(kind) => onChange({ actorKind: kind })}
      />
      <label class="grows">
        {KINDS[actorKind]}
        <input
          value={actor}
          autofocus={isFocused}
          spellcheck={false}
          placeholder={HINTS[actorKind]}
          onInput={(event) => onChange({ actor: event.currentTarget.value })}
        />
      </label>
      <SinceField since={since} onChange={(time) => onChange({ since: time })} always={always} />
    </div>
  );
}

interface SinceProps {
  /** A duration before now, a time, or empty for any time. */
  since: string;
  onChange: (since: string) => void;
  /** As for `ActorFields`. */
  always?: string | undefined;
}

/** Field for a period's start. */
export function SinceField({ since, onChange, always }: SinceProps) {
  const isSpan = since === '' || since in SPANS;
  return (
    <>
      <SelectField
        label="Since"
        texts={{ ...(always === undefined ? {} : { '': always }), ...SPANS, [AT]: 'A time…' }}
        value={isSpan ? since : AT}
        onChange={(value) => onChange(value === AT ? new Date(Date.now() - 86_400_000).toISOString() : value)}
      />
      {!isSpan && (
        <TimeField
          label="Time"
          value={since}
          isRequired
          onChange={(time) => time !== null && onChange(time)}
        />
      )}
    </>
  );
}
