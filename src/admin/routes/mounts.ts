import { z } from 'zod';
import { ServiceError } from '../../errors.ts';
import type { Mount } from '../../memory/mount.ts';
import { MAX_MOUNTS, mountFields, mountNameSchema } from '../../tenants/mount-schema.ts';
import { mountedBy, mountStatuses, removeMount, setMount } from '../../tenants/mounts.ts';
import { noteAudit } from '../audit.ts';
import { administratorOf, scopeOf } from '../authentication.ts';
import { adminRoutes } from '../context.ts';
import { tenantId, tenantParams, text } from '../fields.ts';
import { mountRecord } from '../mount-record.ts';
import { requireInScope } from '../permissions.ts';
import { tenantOf } from '../required-tenant.ts';
import { errorResponses, json, noSuchTenant } from '../responses.ts';

/** How many mounts by others a response has. */
const MAX_LISTED = 1000;

const mountsSchema = z
  .object({
    mounts: z.array(
      mountRecord.extend({
        status: z.enum(['ok', 'suspended', 'missing', 'name_taken']).meta({
          description:
            '`suspended`, `missing`: so is the mounted tenant. `name_taken`: the tenant has a file or directory with this name, which the mount hides.',
        }),
      }),
    ),
    mounted_by: z
      .array(z.object({ tenant: tenantId, name: z.string(), access: mountRecord.shape.access }))
      .meta({ description: `Where this tenant is mounted: the first ${MAX_LISTED}, by tenant.` }),
    more: z.boolean().meta({ description: 'Whether `mounted_by` leaves some out.' }),
  })
  .meta({ id: 'Mounts' });

/** The mounts of a tenant: other memories that it shows as directories. */
export const mountRoutes = adminRoutes((app, { database }) => {
  app.get(
    '/tenants/:tenant/mounts',
    {
      schema: {
        operationId: 'listMounts',
        summary: "List a tenant's mounts, and where it is mounted",
        tags: ['mounts'],
        params: tenantParams,
        response: { 200: json('The mounts.', mountsSchema), ...errorResponses('reads', [noSuchTenant]) },
      },
    },
    async (request) => {
      const tenant = tenantOf(request);
      const page = { scope: scopeOf(request), limit: MAX_LISTED };
      const [mounts, { mounts: by, more }] = await Promise.all([
        mountStatuses(database, tenant),
        mountedBy(database, tenant.id, page),
      ]);
      return { mounts, mounted_by: by, more };
    },
  );

  app.put(
    '/tenants/:tenant/mounts/:name',
    {
      config: { access: 'read_write' },
      schema: {
        operationId: 'setMount',
        summary: 'Mount another tenant, or change a mount',
        description: `The tenant's agents see the other memory as a directory. It takes effect within \`AUTH_CACHE_SECONDS\`. A tenant has up to ${MAX_MOUNTS} mounts.`,
        tags: ['mounts'],
        params: tenantParams.extend({ name: mountNameSchema }),
        body: z.strictObject(mountFields),
        response: {
          200: json('The mount.', mountRecord),
          ...errorResponses('takes JSON', [
            noSuchTenant,
            new ServiceError('mounts_itself', 'acme'),
            new ServiceError('mount_name_taken', 'acme', '/memories/team'),
            new ServiceError('too_many_mounts', 'acme', MAX_MOUNTS),
          ]),
        },
      },
    },
    async (request) => {
      const { tenant, name } = request.params;
      const mount: Mount = { name, ...request.body };
      // Otherwise a key could read, through a mount, what is not of its tenants.
      requireInScope(administratorOf(request).onlyTenants, mount.tenant);
      const before = await setMount(database, tenant, mount);
      noteAudit(request, { details: { name, old: auditOf(before), new: auditOf(mount) } });
      return mount;
    },
  );

  app.delete(
    '/tenants/:tenant/mounts/:name',
    {
      config: { access: 'read_write' },
      schema: {
        operationId: 'removeMount',
        summary: 'Remove a mount',
        description: 'The mounted memory stays as it is. It takes effect within `AUTH_CACHE_SECONDS`.',
        tags: ['mounts'],
        params: tenantParams.extend({ name: text(255) }),
        response: {
          200: json('The mount that was removed.', mountRecord),
          ...errorResponses('changes', [noSuchTenant, new ServiceError('no_such_mount', 'acme', 'team')]),
        },
      },
    },
    async (request) => {
      const { tenant, name } = request.params;
      const mount = await removeMount(database, tenant, name);
      noteAudit(request, { details: { name, old: auditOf(mount), new: null } });
      return mount;
    },
  );
});

/** Without the instructions, which are contents. */
function auditOf(mount: Mount | undefined): object | null {
  return mount === undefined ? null : { tenant: mount.tenant, access: mount.access };
}
