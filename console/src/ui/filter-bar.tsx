import type { ComponentChildren } from 'preact';
import { useId, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { type QueryValues, replaceQuery } from '../router.ts';
import { Combobox } from './combobox.tsx';
import { Icon } from './icon.tsx';
import { Options } from './options.tsx';
import { TimeField } from './time-field.tsx';

interface TextField {
  title: string;
  /** The field's form, for a text that needs one. */
  placeholder?: string;
  suggestions?: readonly string[];
}

/** A choice, a time, a value that only a link sets, or a text. */
export type Filter = TextField & {
  /** Labels for the values of a choice. The value `''` means all. */
  texts?: Record<string, string>;
  isTime?: boolean;
  /** Shows a value that only a link sets. */
  show?: (value: string) => ComponentChildren;
  /** Another filter's name in the URL, whose value a change removes. */
  replaces?: string;
};

interface Props {
  /** The URL's query, which holds the values. */
  query: URLSearchParams;
  /** The text that is always visible, by its name in the URL. */
  search: TextField & { name: string };
  /** The other filters, by their names in the URL. */
  filters: Record<string, Filter>;
  /** The list's order, and hints. */
  children?: ComponentChildren;
}

/** Filters for a list: a search, a chip for each filter in use, and a menu that adds further filters. */
export function FilterBar({ query, search, filters, children }: Props) {
  const menuId = useId();
  const menu = useRef<HTMLDivElement>(null);
  /** Filters whose chips remain while they have no value. */
  const [added, setAdded] = useState<readonly string[]>([]);
  const set = (name: string, value: string | null, changes: QueryValues = {}) => {
    if (!added.includes(name)) setAdded([...added, name]);
    void replaceQuery({ ...changes, [name]: value });
  };
  const remove = (name: string) => {
    setAdded(added.filter((each) => each !== name));
    void replaceQuery({ [name]: null });
  };
  const all = Object.entries(filters);
  const isUsed = (name: string) => query.has(name) || added.includes(name);
  const others = all.filter(([name, { show }]) => !isUsed(name) && show === undefined);
  return (
    <div class="filters">
      <TextInput
        class="search-field"
        field={search}
        label={
          <>
            <span class="visually-hidden">{search.title}</span>
            <Icon name="search" />
          </>
        }
        value={query.get(search.name)}
        onInput={(value) => replaceQuery({ [search.name]: value })}
      />
      {all.map(
        ([name, filter]) =>
          isUsed(name) && (
            <Chip
              key={name}
              filter={filter}
              value={query.get(name)}
              onChange={(value) => set(name, value, filter.replaces ? { [filter.replaces]: null } : {})}
              onRemove={() => remove(name)}
            />
          ),
      )}
      {others.length > 0 && (
        <>
          <button type="button" class="add-filter" popovertarget={menuId}>
            <Icon name="plus" /> Filter
          </button>
          <div ref={menu} id={menuId} popover="auto" class="menu">
            {others.map(([name, { title }]) => (
              <button
                key={name}
                type="button"
                class="quiet"
                onClick={() => {
                  menu.current?.hidePopover();
                  setAdded([...added, name]);
                }}
              >
                {title}
              </button>
            ))}
          </div>
        </>
      )}
      {children}
    </div>
  );
}

interface ChipProps {
  filter: Filter;
  value: string | null;
  onChange: (value: string | null) => void;
  onRemove: () => void;
}

/** A filter with its field, and a button that removes it. */
function Chip({ filter, value, onChange, onRemove }: ChipProps) {
  const chip = useRef<HTMLSpanElement>(null);
  useLayoutEffect(() => {
    // A chip from the menu has no value yet.
    if (value === null) chip.current?.querySelector<HTMLElement>('input, select')?.focus();
  }, []);
  return (
    <span ref={chip} class="chip">
      <ChipField filter={filter} value={value} onChange={onChange} />
      <button type="button" class="icon-button" onClick={onRemove}>
        <Icon name="close" />
        <span class="visually-hidden">Remove the filter: {filter.title}</span>
      </button>
    </span>
  );
}

function ChipField({ filter, value, onChange }: Omit<ChipProps, 'onRemove'>) {
  const { title, texts, isTime, show } = filter;
  if (show) {
    return (
      <>
        <span class="muted">{title}</span> {show(value ?? '')}
      </>
    );
  }
  if (isTime) return <TimeField isCoarse label={title} value={value} onChange={onChange} />;
  if (texts === undefined) return <TextInput field={filter} label={title} value={value} onInput={onChange} />;
  return (
    <label>
      {title}
      <select value={value ?? ''} onChange={(event) => onChange(event.currentTarget.value)}>
        <Options texts={texts} />
      </select>
    </label>
  );
}

interface InputProps {
  field: TextField;
  /** Content before the field. */
  label: ComponentChildren;
  class?: string;
  value: string | null;
  onInput: (value: string) => void;
}

function TextInput({ field, label, class: name, value, onInput }: InputProps) {
  const { title, placeholder = title, suggestions } = field;
  const fieldId = useId();
  const text = value ?? '';
  const part = text.toLowerCase();
  return (
    <div class={name}>
      <label for={fieldId}>{label}</label>
      {suggestions === undefined ? (
        <input
          id={fieldId}
          type="search"
          spellcheck={false}
          placeholder={placeholder}
          value={text}
          onInput={(event) => onInput(event.currentTarget.value)}
        />
      ) : (
        <Combobox
          id={fieldId}
          placeholder={placeholder}
          title="Suggestions"
          value={text}
          onInput={onInput}
          options={suggestions.filter((each) => each !== text && each.toLowerCase().includes(part))}
          onChoose={onInput}
        >
          {(option) => option}
        </Combobox>
      )}
    </div>
  );
}

interface SortProps {
  texts: Record<string, string>;
  query: URLSearchParams;
}

/** The list's order. The URL holds its value as `sort`; the first text is the default. */
export function SortField({ texts, query }: SortProps) {
  return (
    <label class="inline sort-field">
      Sort by
      <select
        value={query.get('sort') ?? Object.keys(texts)[0]}
        onChange={(event) => replaceQuery({ sort: event.currentTarget.value })}
      >
        <Options texts={texts} />
      </select>
    </label>
  );
}
