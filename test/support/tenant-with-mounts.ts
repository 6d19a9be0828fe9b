import type { Mount } from '../../src/core/memory/mount.ts';
import { setMount } from '../../src/core/tenants/mounts.ts';
import type { TenantSettings } from '../../src/core/tenants/settings.ts';
import { Tenants } from '../../src/core/tenants/tenants.ts';
import { freshTenant, type Service } from './test-service.ts';

/** Options for a mount in a test: its access, and settings for the mounted tenant. */
export interface MountOptions {
  access?: Mount['access'];
  instructions?: string;
  settings?: Partial<TenantSettings>;
}

/** Creates a tenant that mounts new tenants. Returns their IDs by the mounts' names, and its own ID as `own`. */
export async function tenantWithMounts<Name extends string>(
  { database }: Service,
  mounts: Record<Name, MountOptions>,
): Promise<Record<Name | 'own', string>> {
  const tenants = new Tenants(database);
  const own = freshTenant('agent');
  await tenants.create(own);
  const ids: Record<string, string> = { own };
  for (const [name, options] of Object.entries<MountOptions>(mounts)) {
    const { access = 'read_write', instructions = '', settings = {} } = options;
    const tenant = freshTenant(name.replaceAll(/[^\w.@-]/g, ''));
    await tenants.createWith(tenant, settings);
    await setMount(database, own, { name, tenant, access, instructions });
    ids[name] = tenant;
  }
  return ids as Record<Name | 'own', string>;
}
