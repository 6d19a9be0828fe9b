import type { Config } from '../../core/config.ts';
import type { Database } from '../../core/database/database.ts';
import { ServiceError } from '../../core/errors/errors.ts';
import type { Page } from '../../core/lib/pages.ts';
import { type ListedTenant, readTenantPage, type TenantPosition } from '../../core/tenants/tenant-listing.ts';
import type { Mode } from './modes.ts';
import { searchForOperator } from './operator-search.ts';
import type { MemorySearch } from './search.ts';
import type { Match } from './search-tool.ts';

/** Maximum number of files that are shown from one tenant. */
const SHOWN_FILES = 3;
const PAGE = 50;

interface FleetSearch {
  query: string;
  mode: Mode;
  /** Maximum number of files. */
  limit: number;
  /** Tenants to search; null means all. */
  scope: string[] | null;
  /** Aborted when the client disconnects. */
  signal: AbortSignal;
  /** Aborted when the time for the search is over. */
  deadline: AbortSignal;
}

interface FleetMatches {
  matches: (Omit<Match, 'score'> & { tenant: string })[];
  /** Number of tenants that were searched. */
  searched: number;
  isComplete: boolean;
}

/**
 * Searches tenants' current files, the latest changed tenants first, until enough files are found or the
 * time is over.
 *
 * @throws ServiceError for an invalid query, and 499 when the client disconnects
 */
export async function searchTenants(
  search: MemorySearch,
  { database, config }: { database: Database; config: Config },
  { query, mode, limit, scope, signal, deadline }: FleetSearch,
): Promise<FleetMatches> {
  const gone = AbortSignal.any([signal, deadline]);
  const found: FleetMatches = { matches: [], searched: 0, isComplete: true };
  let after: TenantPosition | null = null;
  do {
    const page: Page<ListedTenant, TenantPosition> = await readTenantPage(
      database,
      config,
      { scope, order: 'changed' },
      { limit: PAGE, after },
    );
    for (const tenant of page.rows) {
      if (found.matches.length >= limit || deadline.aborted) return { ...found, isComplete: false };
      const searched = { tenant, input: { query, mode, max_results: SHOWN_FILES }, at: undefined, gone };
      const matches = await searchForOperator(search, database, searched).then(
        (result) => result.matches,
        (error) => {
          if (signal.aborted || !canSkip(error)) throw error;
          return null;
        },
      );
      if (matches === null) {
        found.isComplete = false;
        continue;
      }
      found.searched++;
      const files = matches.filter(({ path }, i) => matches.findIndex((each) => each.path === path) === i);
      const shown = files.slice(0, limit - found.matches.length);
      found.matches.push(...shown.map(({ path, line, text }) => ({ tenant: tenant.id, path, line, text })));
    }
    after = page.next;
  } while (after !== null);
  return found;
}

/** Whether only this tenant's search failed, because it took too long or had to wait. */
const canSkip = (error: unknown) =>
  error instanceof ServiceError && (error.status >= 429 || error.reason === 'search_too_expensive');
