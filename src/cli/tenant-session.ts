import { Transfer } from '../archive/transfer.ts';
import type { Config } from '../config.ts';
import { History } from '../history/history.ts';
import type { Database } from '../postgres/database.ts';
import { tenantDefaults } from '../tenants/effective-settings.ts';
import type { TenantRow } from '../tenants/queries.ts';
import { requireTenant } from '../tenants/tenants.ts';
import { type Open, withDatabase } from './session.ts';

export interface TenantSession {
  config: Config;
  database: Database;
  tenant: TenantRow;
  transfer: Transfer;
  history: History;
}

/**
 * Runs a command's work on the memory of a tenant, which may be suspended.
 *
 * @throws ServiceError when there is no such tenant.
 */
export function withTenant<T>(
  open: Open,
  id: string,
  work: (session: TenantSession) => Promise<T>,
): Promise<T> {
  return withDatabase(open, async ({ config, database }) => {
    const tenant = await requireTenant(database, id);
    return work({
      config,
      database,
      tenant,
      transfer: new Transfer(database, tenantDefaults(config)),
      history: new History(database),
    });
  });
}
