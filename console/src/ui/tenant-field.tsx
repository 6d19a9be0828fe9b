import { useId, useState } from 'preact/hooks';
import type { Tenant } from '../api/api-types.ts';
import { listTenants } from '../api/tenants-api.ts';
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
export function TenantField(props: Props) {
  const { label, value, onChange, isFocused = false, except } = props;
  const [isOpen, setIsOpen] = useState(false);
  const [active, setActive] = useState(-1);
  const fieldId = useId();
  const listId = useId();
  const search = useDebounced(value.trim(), 150);
  const { data, isLoading } = useLoad(
    async (signal) => (await listTenants({ search, limit: SUGGESTIONS + 1 }, signal)).tenants,
    [search],
  );
  const found = (data ?? []).filter(({ id }) => id !== except).slice(0, SUGGESTIONS);
  const isChosen = found.length === 1 && found[0]?.id === value;
  // Suggestions for an older text could be chosen by mistake.
  const isCurrent = !isLoading && search === value.trim();
  const isShown = isOpen && isCurrent && found.length > 0 && !isChosen;
  const choose = ({ id }: Tenant) => {
    onChange(id);
    setIsOpen(false);
    setActive(-1);
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const step = event.key === 'ArrowDown' ? 1 : event.key === 'ArrowUp' ? -1 : 0;
    const chosen = found[active];
    if (step !== 0) {
      event.preventDefault();
      setIsOpen(true);
      setActive(isShown && active !== -1 ? (active + step + found.length) % found.length : 0);
    } else if (event.key === 'Enter' && isShown && chosen !== undefined) {
      event.preventDefault();
      choose(chosen);
    } else if (event.key === 'Escape' && isShown) {
      // Closes the suggestions, and not the dialog.
      event.preventDefault();
      event.stopPropagation();
      setIsOpen(false);
    }
  };
  return (
    <div class="field">
      <label for={fieldId}>{label}</label>
      <div class="combobox">
        <input
          id={fieldId}
          required
          autofocus={isFocused}
          spellcheck={false}
          autocomplete="off"
          placeholder="ID or name"
          role="combobox"
          aria-expanded={isShown}
          aria-controls={listId}
          aria-autocomplete="list"
          aria-activedescendant={isShown && active >= 0 ? `${listId}-${active}` : undefined}
          value={value}
          onInput={(event) => {
            setIsOpen(true);
            setActive(-1);
            onChange(event.currentTarget.value);
          }}
          onClick={() => setIsOpen(true)}
          onKeyDown={onKeyDown}
          onBlur={() => setIsOpen(false)}
        />
        <div id={listId} class="suggestions" role="listbox" aria-label="Tenants" hidden={!isShown}>
          {isShown &&
            found.map((tenant, index) => (
              // biome-ignore lint/a11y/useFocusableInteractive: the field keeps the focus and names the active option.
              // biome-ignore lint/a11y/useKeyWithClickEvents: the field handles the keys.
              <div
                key={tenant.id}
                id={`${listId}-${index}`}
                role="option"
                aria-selected={index === active}
                // The field keeps the focus.
                onMouseDown={(event) => event.preventDefault()}
                onClick={() => choose(tenant)}
              >
                <Name text={tenant.id} />
                {tenant.name !== tenant.id && (
                  <span class="muted small">
                    <Name text={tenant.name} />
                  </span>
                )}
              </div>
            ))}
        </div>
      </div>
    </div>
  );
}
