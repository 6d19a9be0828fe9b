import { useId } from 'preact/hooks';
import { listTenants } from '../api/tenants-api.ts';
import { Combobox } from './combobox.tsx';
import { Name } from './name.tsx';
import { useDebounced } from './use-debounced.ts';
import { useLoad } from './use-load.ts';

interface Props {
  label: string;
  value: string;
  onChange: (id: string) => void;
  isFocused?: boolean;
  /** A tenant ID to leave out. */
  except?: string;
}

const SUGGESTIONS = 6;

/** Field for a tenant ID. While the user types, the field suggests tenants by a part of their ID or name. */
export function TenantField({ label, value, onChange, isFocused = false, except }: Props) {
  const fieldId = useId();
  const search = useDebounced(value.trim(), 150);
  const { data = [], isLoading } = useLoad(
    async (signal) => (await listTenants({ search, limit: SUGGESTIONS + 1 }, signal)).tenants,
    [search],
  );
  const found = data.filter(({ id }) => id !== except).slice(0, SUGGESTIONS);
  const isChosen = found.length === 1 && found[0]?.id === value;
  // Suggestions for an older text could be chosen by mistake.
  const isCurrent = !isLoading && search === value.trim();
  return (
    <div class="field">
      <label for={fieldId}>{label}</label>
      <Combobox
        id={fieldId}
        required
        autofocus={isFocused}
        placeholder="ID or name"
        title="Tenants"
        value={value}
        onInput={onChange}
        options={isCurrent && !isChosen ? found : []}
        onChoose={({ id }) => onChange(id)}
      >
        {({ id, name }) => (
          <>
            <Name text={id} />
            {name !== id && (
              <span class="muted small">
                <Name text={name} />
              </span>
            )}
          </>
        )}
      </Combobox>
    </div>
  );
}
