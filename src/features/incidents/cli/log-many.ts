import { type Caller, iteratePages } from '../../../core/cli/caller.ts';
import type { LoggedVersion, LogOptions } from '../../../core/cli/over-tenants.ts';
import type { toSelection } from '../../../core/cli/selection-options.ts';
import { listAllVersions } from '../admin/fleet-versions.ts';

const PAGE = 200;

/** Yields the versions in many tenants, tenant after tenant. */
export async function* readManyVersions(
  caller: Caller,
  { ids: tenant, metadata: _, ...selection }: ReturnType<typeof toSelection>,
  { limit = Number.POSITIVE_INFINITY, metadata, since, until, by, source, operation, ...options }: LogOptions,
): AsyncGenerator<LoggedVersion> {
  const query = {
    ...selection,
    tenant,
    metadata,
    path_contains: options.pathContains,
    by_contains: options.byContains,
    since,
    until,
    by,
    source,
    operation,
  };
  let left = limit;
  const pages = iteratePages((after) =>
    caller.call(listAllVersions, { query: { ...query, limit: Math.min(PAGE, left), after } }),
  );
  for await (const { versions } of pages) {
    yield* versions;
    left -= versions.length;
    if (left <= 0) return;
  }
}
