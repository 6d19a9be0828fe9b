import type { FastifyRequest } from 'fastify';
import fp from 'fastify-plugin';
import type { Database } from '../database/database.ts';
import type { TenantRow } from '../tenants/queries.ts';
import { requireTenant } from '../tenants/tenants.ts';

declare module 'fastify' {
  interface FastifyRequest {
    /** Set for routes of one tenant, which exists. */
    tenantRow: TenantRow | undefined;
  }
}

/** Looks up the tenant that a route's URL names, before the handler of every route in this scope. */
export const requiredTenant = fp<{ database: Database }>(
  async (app, { database }) => {
    app.decorateRequest('tenantRow', undefined);
    app.addHook('preHandler', async (request) => {
      const { tenant } = request.params as { tenant: string };
      request.tenantRow = await requireTenant(database, tenant);
    });
  },
  { name: 'required-tenant' },
);

/** @throws Error outside that scope */
export function tenantOf({ tenantRow }: FastifyRequest): TenantRow {
  if (tenantRow === undefined) throw new Error('The route is not in the scope of required-tenant.');
  return tenantRow;
}
