import type { Database } from '../../core/database/database.ts';
import { ServiceError } from '../../core/errors/errors.ts';
import { countedAs } from '../../core/tenants/policy-cache.ts';
import type { TenantRow } from '../../core/tenants/queries.ts';
import { filesAt, filesNow } from './file-source.ts';
import type { MemorySearch } from './search.ts';
import type { Where } from './search-query.ts';
import { runSearch, type SearchResult } from './search-tool.ts';

/**
 * Searches for an operator, now or at a time (ISO 8601).
 *
 * @param options.gone signal that ends the search
 * @throws ServiceError for every error result from the tool
 * @throws DatabaseError
 */
export async function searchForOperator(
  search: MemorySearch,
  database: Database,
  {
    tenant: { id: tenant, draftOf },
    at,
    ...rest
  }: {
    tenant: Pick<TenantRow, 'id' | 'draftOf'>;
    input: unknown;
    where?: Where;
    at: string | undefined;
    gone?: AbortSignal | undefined;
  },
): Promise<SearchResult> {
  const files = at === undefined ? filesNow(database, tenant, search.texts) : filesAt(database, tenant, at);
  const result = await runSearch(search, {
    countedAs: countedAs(tenant, { draftOf }),
    files,
    maxChars: 0,
    ...rest,
  });
  if (result.failed === undefined) return result;
  switch (result.failed.about) {
    case 'input':
      throw new ServiceError('invalid_search', result.failed.rejection);
    case 'path': {
      const path = String((rest.input as { path?: unknown }).path);
      throw at === undefined
        ? new ServiceError('nothing_at', tenant, path)
        : new ServiceError('nothing_at_time', tenant, path, at, 0);
    }
    case 'work':
      throw new ServiceError('search_too_expensive');
  }
}
