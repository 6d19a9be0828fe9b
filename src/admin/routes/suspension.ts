import { ServiceError } from '../../errors.ts';
import { findListedTenant } from '../../tenants/listing.ts';
import { Tenants } from '../../tenants/tenants.ts';
import { noteAudit } from '../audit.ts';
import { adminRoutes } from '../context.ts';
import { tenantParams } from '../fields.ts';
import { errorResponses, json, noSuchTenant } from '../responses.ts';
import { tenantRecord, tenantSchema } from '../tenant-record.ts';

/** Suspending and resuming a tenant. */
export const suspensionRoutes = adminRoutes((app, { config, database }) => {
  const tenants = new Tenants(database);

  for (const [name, suspended, summary] of [
    ['suspend', true, 'Reject all requests of a tenant'],
    ['resume', false, 'Accept requests of a suspended tenant again'],
  ] as const) {
    app.post(
      `/tenants/:tenant/${name}`,
      {
        schema: {
          operationId: `${name}Tenant`,
          summary,
          description: 'It takes effect within `AUTH_CACHE_SECONDS`.',
          tags: ['tenants'],
          params: tenantParams,
          response: { 200: json('The tenant.', tenantSchema), ...errorResponses('changes', [noSuchTenant]) },
        },
      },
      async (request) => {
        const { tenant } = request.params;
        const before = await tenants.find(tenant);
        if (!(await tenants.suspend(tenant, suspended))) throw new ServiceError('no_such_tenant', tenant);
        noteAudit(request, { details: { suspended: { old: before?.suspendedAt != null, new: suspended } } });
        return tenantRecord(await findListedTenant(database, tenant), config);
      },
    );
  }
});
