import { z } from 'zod';
import { noSuchTenant } from '../../core/admin/admin-errors.ts';
import { defineOperation } from '../../core/admin/admin-operation.ts';
import { tenantParams } from '../../core/admin/fields.ts';
import { effectiveSettings } from '../../core/tenants/effective-settings.ts';
import { contextQuerySchema, contextSchema } from './context-schema.ts';

export const readTenantContext = defineOperation({
  id: 'readContext',
  method: 'GET',
  url: '/tenants/:tenant/context',
  summary: "Read the context for a tenant's agents",
  description:
    "The same texts as an agent's `GET /context`. A key with a scope sees only the mounts in its scope.",
  tag: 'memory',
  params: tenantParams,
  query: z.strictObject({
    ...contextQuerySchema.shape,
    access: z
      .enum(['read_only', 'read_write'])
      .default('read_write')
      .meta({ description: "Access that the agent's key has." }),
  }),
  response: { description: 'The texts.', schema: contextSchema },
  errors: [noSuchTenant],
  async run({ config, services, tenant, administrator, query: { access, since, max_chars: maxChars } }) {
    // The import is deferred because few commands read a context.
    const { readContext } = await import('./context.ts');
    const { maxContextChars, pinnedPaths, maxFileBytes, maxViewChars } = effectiveSettings(tenant, config);
    const { onlyTenants } = administrator;
    const mounts = tenant.mounts.filter(
      (mount) => onlyTenants === null || onlyTenants.includes(mount.tenant),
    );
    const { createdAt } = tenant;
    const reader = {
      principal: { tenant: tenant.id, access, proposesAs: undefined },
      policy: { mounts, createdAt, pinnedPaths, maxContextChars, limits: { maxFileBytes, maxViewChars } },
      ip: '',
      origin: undefined,
    };
    return readContext(reader, await services(), { since, maxChars });
  },
});
