import type { Counts, Job, TenantSelection } from '../../api/incidents-api.ts';

/** A job's chosen tenants: all with an outcome except some, or only some. */
export interface Choice {
  isAll: boolean;
  /** Counts by tenant: for the exceptions, or for the chosen tenants. */
  tenants: Readonly<Record<string, Counts>>;
}

export const ALL: Choice = { isAll: true, tenants: {} };
export const NONE: Choice = { isAll: false, tenants: {} };

export const isChosen = ({ isAll, tenants }: Choice, tenant: string) =>
  isAll !== Object.hasOwn(tenants, tenant);
export const isEverything = ({ isAll, tenants }: Choice) => isAll && Object.keys(tenants).length === 0;

/** Selects or unselects a tenant. */
export function toggleTenant({ isAll, tenants }: Choice, tenant: string, counts: Counts): Choice {
  const others = Object.entries(tenants).filter(([id]) => id !== tenant);
  const isNamed = others.length < Object.keys(tenants).length;
  return { isAll, tenants: Object.fromEntries(isNamed ? others : [...others, [tenant, counts]]) };
}

/** Counts the chosen tenants among `total` tenants. */
export function chosenTenants({ isAll, tenants }: Choice, total: number): number {
  const named = Object.keys(tenants).length;
  return isAll ? total - named : named;
}

/** Adds up a count over the chosen tenants. `all` is the sum over all tenants. */
export function chosenSum({ isAll, tenants }: Choice, name: string, all: number): number {
  const named = Object.values(tenants).reduce((sum, counts) => sum + (counts[name] ?? 0), 0);
  return isAll ? all - named : named;
}

/** Returns the chosen tenants with an outcome in a job as the selection for another job. */
export function chosenSelection(choice: Choice, job: string): TenantSelection {
  const names = Object.keys(choice.tenants);
  if (!choice.isAll) return { ids: names };
  return { found_by: job, ...(names.length > 0 && { except: names }) };
}

/**
 * Returns a job's tenants, except the unselected ones, as the selection for another job. Unlike with `chosenSelection`,
 * the other job also processes tenants that had no outcome, for example because the text was written later.
 */
export function wholeChosenSelection(
  choice: Choice,
  job: Pick<Job, 'selection' | 'only_tenants'>,
): TenantSelection {
  const names = Object.keys(choice.tenants);
  if (!choice.isAll) return { ids: names };
  const { only_tenants: ids } = job;
  const { found_by_state: _, ...selection } = job.selection;
  const except = [...(selection.except ?? []), ...names];
  return { ...selection, ...(ids !== null && { ids }), ...(except.length > 0 && { except }) };
}
