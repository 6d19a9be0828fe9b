import type { Database } from '../../core/database/database.ts';
import { History } from '../../core/history/history.ts';
import { type LogEntry, type LogOptions, logPage } from '../../core/history/log.ts';
import { selectTenants, type TenantSelection } from './tenant-selection.ts';

/* Lists the versions in many tenants, tenant after tenant, newest first in each. */

/** Page limits, so that a filter with few matches does not read all tenants in one request. */
const TENANTS_A_PAGE = 100;
const PAGE_MS = 2000;

/** Position where a page ends. */
export interface ChangePosition {
  tenant: string;
  /** ID of the tenant's last version on the page; null if the page has read all its versions. */
  version: string | null;
}

export interface TenantChange extends LogEntry {
  tenant: string;
}

/**
 * Reads a page of the tenants' versions. A page can have fewer versions than `limit`, or none, before the last page.
 *
 * @param onlyTenants tenants to which the caller is limited; null for all
 * @param after the previous page's end; null for the first page
 * @returns the versions, and the page's end; null for the last page
 */
export async function readChanges(
  database: Database,
  { selection, onlyTenants }: { selection: TenantSelection; onlyTenants: string[] | null },
  filter: LogOptions,
  after: ChangePosition | null,
  limit: number,
): Promise<{ changes: TenantChange[]; next: ChangePosition | null }> {
  const startedAt = performance.now();
  const history = new History(database);
  const changes: TenantChange[] = [];
  const changedSince = filter.since ?? null;
  const select = (only: string[] | null, from: string, count: number) =>
    selectTenants(database, selection, only, { after: from, limit: count, changedSince });
  const isStarted = after !== null && after.version !== null;
  // The position's tenant is selected again, because it may no longer match, and the caller wrote the position.
  const started = isStarted && (onlyTenants?.includes(after.tenant) ?? true) ? [after.tenant] : [];
  const first = started.length === 0 ? [] : await select(started, '', 1);
  const others = await select(onlyTenants, after?.tenant ?? '', TENANTS_A_PAGE);
  for (const tenant of [...first, ...others]) {
    const before = tenant === started[0] && after !== null ? after.version : null;
    const entries = await logPage(history, tenant, filter, before, limit - changes.length);
    for (const entry of entries) changes.push({ ...entry, tenant });
    if (changes.length === limit)
      return { changes, next: { tenant, version: entries.at(-1)?.version.id ?? null } };
    const isLast = tenant === others.at(-1) && others.length < TENANTS_A_PAGE;
    if (!isLast && performance.now() - startedAt > PAGE_MS)
      return { changes, next: { tenant, version: null } };
  }
  const last = others.at(-1);
  const next = last === undefined || others.length < TENANTS_A_PAGE ? null : { tenant: last, version: null };
  return { changes, next };
}
