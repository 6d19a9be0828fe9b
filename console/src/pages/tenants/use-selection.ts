import { useState } from 'preact/hooks';
import type { Tenant } from '../../api/types.ts';

export interface Selection {
  /** Selected tenants that the current filter lists. */
  tenants: Tenant[];
  has: (id: string) => boolean;
  toggle: (id: string) => void;
  set: (tenants: Tenant[]) => void;
}

export function useSelection(listed: Tenant[]): Selection {
  const [ids, setIds] = useState<ReadonlySet<string>>(new Set());
  return {
    tenants: listed.filter(({ id }) => ids.has(id)),
    has: (id) => ids.has(id),
    toggle: (id) => setIds(new Set(ids.has(id) ? [...ids].filter((each) => each !== id) : [...ids, id])),
    set: (tenants) => setIds(new Set(tenants.map(({ id }) => id))),
  };
}
