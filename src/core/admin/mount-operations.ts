import { z } from 'zod';
import { ServiceError } from '../errors/errors.ts';
import { instructionsFor, instructionsSchema } from '../files/mounts/mount-instructions.ts';
import type { Mount } from '../memory/mount.ts';
import {
  findMountingTenants,
  MAX_MOUNTS,
  mountFields,
  mountNameSchema,
  mountStatuses,
  removeMount,
  setMount,
} from '../tenants/mounts.ts';
import { noSuchTenant } from './admin-errors.ts';
import { defineOperation } from './admin-operation.ts';
import { flag, tenantId, tenantParams, text } from './fields.ts';
import { requireInScope } from './permissions.ts';
import { mountRecord } from './tenant-record.ts';

/** Maximum number of mounting tenants in a response. */
const MAX_LISTED = 1000;

const mountsSchema = z
  .object({
    mounts: z.array(
      mountRecord.extend({
        status: z
          .enum(['ok', 'suspended', 'missing', 'name_taken'])
          .nullable()
          .meta({
            description:
              '`suspended`, `missing`: so is the mounted tenant. `name_taken`: the tenant has a file or ' +
              "directory with this name, which the mount hides. Null for a tenant outside the admin key's " +
              'scope.',
          }),
      }),
    ),
    mounted_by: z
      .array(z.object({ tenant: tenantId, name: z.string(), access: mountRecord.shape.access }))
      .meta({
        description: `Mounts in other tenants that show this tenant: the first ${MAX_LISTED}, by tenant.`,
      }),
    more: z.boolean().meta({ description: 'Whether `mounted_by` leaves some out.' }),
  })
  .meta({ id: 'Mounts' });

export const listMounts = defineOperation({
  id: 'listMounts',
  method: 'GET',
  url: '/tenants/:tenant/mounts',
  summary: "List a tenant's mounts, and where it is mounted",
  tag: 'mounts',
  params: tenantParams,
  query: z.strictObject({
    mounted_by: flag
      .default(true)
      .meta({ description: 'Whether to list `mounted_by`, which reads all tenants. Otherwise it is empty.' }),
  }),
  response: { description: 'The mounts.', schema: mountsSchema },
  errors: [noSuchTenant],
  async run({ database, tenant, administrator, query }) {
    const page = { scope: administrator.onlyTenants, limit: MAX_LISTED };
    const [mounts, { mounts: by, more }] = await Promise.all([
      mountStatuses(database, tenant, administrator.onlyTenants),
      query.mounted_by ? findMountingTenants(database, tenant.id, page) : { mounts: [], more: false },
    ]);
    return { mounts, mounted_by: by, more };
  },
});

export const readInstructions = defineOperation({
  id: 'readInstructions',
  method: 'GET',
  url: '/tenants/:tenant/instructions',
  summary: "Read the system prompt text for a tenant's agents",
  description: "The same text as an agent's `GET /instructions`: the memory protocol, and the mounts.",
  tag: 'memory',
  params: tenantParams,
  query: z.strictObject({
    access: z
      .enum(['read_only', 'read_write'])
      .default('read_write')
      .meta({ description: "Access that the agent's key has." }),
  }),
  response: { description: 'The text.', schema: instructionsSchema },
  errors: [noSuchTenant],
  async run({ services, tenant, administrator, query: { access } }) {
    const reader = { principal: { access, proposesAs: undefined }, policy: tenant, ip: '' };
    return instructionsFor(reader, await services(), true, administrator.onlyTenants);
  },
});

export const setTenantMount = defineOperation({
  id: 'setMount',
  method: 'PUT',
  url: '/tenants/:tenant/mounts/:name',
  summary: 'Mount another tenant, or change a mount',
  description: `The tenant's agents see the other memory as a directory. It takes effect within \`AUTH_CACHE_SECONDS\`. A tenant has up to ${MAX_MOUNTS} mounts.`,
  tag: 'mounts',
  access: 'read_write',
  params: tenantParams.extend({ name: mountNameSchema }),
  body: z.strictObject(mountFields),
  response: { description: 'The mount.', schema: mountRecord },
  errors: [
    noSuchTenant,
    new ServiceError('mounts_itself', 'acme'),
    new ServiceError('mount_name_taken', 'acme', '/memories/team'),
    new ServiceError('too_many_mounts', 'acme', MAX_MOUNTS),
  ],
  async run({ database, params: { tenant, name }, body, administrator, note }) {
    const mount: Mount = { name, ...body };
    // The key must also have the mounted tenant in its scope. Otherwise, the key could read any tenant through a mount.
    requireInScope(administrator.onlyTenants, mount.tenant);
    const before = await setMount(database, tenant, mount, administrator.actor);
    note({ details: { name, old: mountDetails(before), new: mountDetails(mount) } });
    return mount;
  },
});

export const removeTenantMount = defineOperation({
  id: 'removeMount',
  method: 'DELETE',
  url: '/tenants/:tenant/mounts/:name',
  summary: 'Remove a mount',
  description: 'The mounted memory is unchanged. The change takes effect within `AUTH_CACHE_SECONDS`.',
  tag: 'mounts',
  access: 'read_write',
  params: tenantParams.extend({ name: text(255) }),
  response: { description: 'The mount that was removed.', schema: mountRecord },
  errors: [noSuchTenant, new ServiceError('no_such_mount', 'acme', 'team')],
  async run({ database, params: { tenant, name }, administrator, note }) {
    const mount = await removeMount(database, tenant, name, administrator.actor);
    note({ details: { name, old: mountDetails(mount), new: null } });
    return mount;
  },
});

/** Returns a mount's details for the audit trail. The instructions and the prefix are content, so they are omitted. */
function mountDetails(mount: Mount | undefined): object | null {
  if (mount === undefined) return null;
  const { tenant, access, prefix } = mount;
  return { tenant, access, ...(prefix !== undefined && { is_partial: true }) };
}
