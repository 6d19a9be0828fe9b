import type { Tenant } from '../../../api/api-types.ts';
import { listTenants, type TenantQuery, type TenantTotals } from '../../../api/tenants-api.ts';

export type Target = Pick<Tenant, 'id' | 'status' | 'files' | 'settings' | 'effective'>;

/** The tenants for an action on several tenants. */
export interface Targets {
  count: number;
  /** Number of files in these tenants. */
  files: number;
  /** The tenants, or only the first ones if `isAllMatching`. */
  examples: readonly Target[];
  /** Whether the tenants are all that match a filter. */
  isAllMatching: boolean;
  /** @param onRead receives the number of tenants read */
  read: (onRead: (count: number) => void, signal: AbortSignal) => Promise<readonly Target[]>;
}

export function chosenTargets(tenants: readonly Target[]): Targets {
  return {
    count: tenants.length,
    files: tenants.reduce((sum, tenant) => sum + tenant.files, 0),
    examples: tenants,
    isAllMatching: false,
    read: async () => tenants,
  };
}

const toTarget = ({ id, status, files, settings, effective }: Tenant): Target => ({
  id,
  status,
  files,
  settings,
  effective,
});

/** The service's maximum number of tenants per page. */
const PAGE = 200;

export function matchingTargets(
  filter: TenantQuery,
  totals: TenantTotals,
  shown: readonly Target[],
): Targets {
  return {
    count: totals.tenants,
    files: totals.files,
    examples: shown,
    isAllMatching: true,
    async read(onRead, signal) {
      const found: Target[] = [];
      for (let after: string | null = null; ; ) {
        const page = await listTenants({ ...filter, sort: 'id', limit: PAGE, after }, signal);
        // Keeps only the needed fields for up to 100,000s of tenants.
        found.push(...page.tenants.map(toTarget));
        onRead(found.length);
        after = page.next;
        if (after === null) return found;
      }
    },
  };
}
