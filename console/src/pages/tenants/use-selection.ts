import { useRef, useState } from 'preact/hooks';
import type { Tenant } from '../../api/api-types.ts';

export interface Selection {
  /** Selected tenants that the list shows. */
  tenants: Tenant[];
  /** Whether all tenants that match the filter are selected, also those that the list does not show. */
  isAllMatching: boolean;
  has: (id: string) => boolean;
  /** @param isRange whether to also select the tenants between this and the last one, as for a click with Shift */
  toggle: (id: string, isRange: boolean) => void;
  /** Selects the given tenants. */
  set: (tenants: Tenant[]) => void;
  setAllMatching: () => void;
}

/**
 * Keeps the tenants that are selected in a list.
 *
 * @param filter the filter's text. Another text ends the selection of all matching tenants.
 */
export function useSelection(listed: Tenant[], filter: string): Selection {
  const [ids, setIds] = useState<ReadonlySet<string>>(new Set());
  const [allOf, setAllOf] = useState<string | null>(null);
  const last = useRef<string | null>(null);
  const isAllMatching = allOf === filter;
  const has = (id: string) => isAllMatching || ids.has(id);
  const select = (selected: Iterable<string>) => {
    setAllOf(null);
    setIds(new Set(selected));
  };
  const toggle = (id: string, isRange: boolean) => {
    const all = listed.map((tenant) => tenant.id);
    const selected = all.filter(has);
    const from = isRange && last.current !== null ? all.indexOf(last.current) : -1;
    const to = all.indexOf(id);
    last.current = id;
    if (has(id)) select(selected.filter((each) => each !== id));
    else if (from === -1) select([...selected, id]);
    else select([...selected, ...all.slice(Math.min(from, to), Math.max(from, to) + 1)]);
  };
  return {
    tenants: listed.filter(({ id }) => has(id)),
    isAllMatching,
    has,
    toggle,
    set: (tenants) => select(tenants.map(({ id }) => id)),
    setAllMatching: () => setAllOf(filter),
  };
}
