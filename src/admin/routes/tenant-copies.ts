import { z } from 'zod';
import { ServiceError } from '../../errors.ts';
import { copyTenant, renameTenant } from '../../tenants/copy.ts';
import { findListedTenant } from '../../tenants/listing.ts';
import { noteAudit } from '../audit.ts';
import { originOf } from '../authentication.ts';
import { adminRoutes } from '../context.ts';
import { newTenantId, tenantId, tenantParams } from '../fields.ts';
import { errorResponses, json, noSuchTenant } from '../responses.ts';
import { tenantRecord, tenantSchema } from '../tenant-record.ts';

/** How many of the tenants that mount a renamed one a response lists. */
const MAX_LISTED = 1000;

const renamedSchema = tenantSchema
  .extend({
    mounted_by: z
      .array(tenantId)
      .meta({ description: `The tenants that mount it: the first ${MAX_LISTED}, sorted.` }),
  })
  .meta({ id: 'RenamedTenant' });

const body = z.strictObject({ to: newTenantId.meta({ description: 'The id of the new tenant.' }) });

/** Copying and renaming a tenant. */
export const tenantCopyRoutes = adminRoutes((app, { config, database }) => {
  const errors = errorResponses('takes JSON', [noSuchTenant, new ServiceError('tenant_exists', 'globex')]);

  app.post(
    '/tenants/:tenant/copy',
    {
      config: { access: 'read_write', scope: 'fleet' },
      schema: {
        operationId: 'copyTenant',
        summary: 'Copy a tenant: its files and settings as of one moment, without keys and history',
        description: 'In one transaction. Writes to the tenant wait until it is done.',
        tags: ['tenants'],
        params: tenantParams,
        body,
        response: { 200: json('The new tenant.', tenantSchema), ...errors },
      },
    },
    async (request) => {
      const { tenant } = request.params;
      const { to } = request.body;
      noteAudit(request, { details: { to } });
      await copyTenant(database, tenant, to, originOf(request));
      return tenantRecord(await findListedTenant(database, to), config);
    },
  );

  app.post(
    '/tenants/:tenant/rename',
    {
      config: { access: 'read_write', scope: 'fleet' },
      schema: {
        operationId: 'renameTenant',
        summary: 'Rename a tenant, with its files, history, settings, keys and stored results',
        description:
          'In one transaction. Writes to the tenant wait until it is done. Mounts of the tenant show it under its new id. Keys work for the new id within `AUTH_CACHE_SECONDS`; clients that send the id must send the new one.',
        tags: ['tenants'],
        params: tenantParams,
        body,
        response: { 200: json('The tenant with its new id.', renamedSchema), ...errors },
      },
    },
    async (request) => {
      const { tenant } = request.params;
      const { to } = request.body;
      noteAudit(request, { details: { to } });
      const { mountedBy } = await renameTenant(database, tenant, to);
      const renamed = tenantRecord(await findListedTenant(database, to), config);
      return { ...renamed, mounted_by: mountedBy.slice(0, MAX_LISTED) };
    },
  );
});
