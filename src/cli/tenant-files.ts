import { ROOT } from '../memory/path.ts';
import { PostgresMemory } from '../store/memory-store.ts';
import { tenantDefaults } from '../tenants/effective-settings.ts';
import { operatorOrigin, type TenantSession } from './session.ts';

const PAGE = { limit: 100, bytes: 4 * 1024 * 1024 };

/** The tenant's files in the order of their paths, read page by page. */
export async function* tenantFiles(
  { config, database, tenant }: TenantSession,
  { withContent }: { withContent: boolean },
) {
  const memory = new PostgresMemory(database, {
    batchSize: 1,
    maxStoredResults: config.MAX_TENANT_STORED_RESULTS,
    defaults: tenantDefaults(config),
  });
  try {
    const memories = memory.memoriesOf(tenant.id, { autoCreate: false, origin: operatorOrigin() });
    for (let after = ''; ; ) {
      const { rows, hasMore } = await memories.page(0, { top: ROOT, after, withContent, ...PAGE });
      yield* rows;
      const last = rows.at(-1);
      if (!hasMore || last === undefined) return;
      after = last.path;
    }
  } finally {
    await memory.close();
  }
}
