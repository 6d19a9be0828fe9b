import { expect } from 'vitest';
import { setMount } from '../../src/core/tenants/mounts.ts';
import type { TenantSettings } from '../../src/core/tenants/settings.ts';
import { Tenants } from '../../src/core/tenants/tenants.ts';
import type { ReadLog } from '../../src/features/reads/read-log.ts';
import { type Admin, makeKey } from '../support/admin.ts';
import { cmd } from '../support/step-table.ts';
import { freshTenant, type Service } from '../support/test-service.ts';

export interface Read {
  memory_id: string;
  path: string | null;
  actor: { type: string; label?: string };
  source: string | null;
  via_tenant: string | null;
  tool_use_id: string | null;
  count: number;
  first_at: string;
  last_at: string;
}

/** Writes the buffered reads. */
export const flushReads = ({ app }: Service) => (app.services.readTrail as ReadLog).flush();

/** Creates a tenant with settings and with files by path. */
export async function tenantWith(
  service: Service,
  files: Record<string, string>,
  settings: Partial<TenantSettings> = {},
): Promise<string> {
  const tenant = freshTenant('reads');
  await new Tenants(service.database).createWith(tenant, settings);
  for (const [path, text] of Object.entries(files)) await write(service, tenant, cmd.create(path, text));
  return tenant;
}

export async function write(service: Service, tenant: string, input: object): Promise<void> {
  const headers = { authorization: `Bearer ${(await makeKey(service, { tenant })).key}` };
  expect((await service.execute(input, { headers })).body).toMatchObject({ is_error: false });
}

/** Returns a function that runs a tool call with a key, under a `tool_use` ID. */
export async function reader(service: Service, purpose: Parameters<typeof makeKey>[1]) {
  const { key } = await makeKey(service, purpose);
  const headers = { authorization: `Bearer ${key}` };
  const use = (id: string, input: object, name = 'memory') =>
    service.execute({ type: 'tool_use', id, name, input }, { headers });
  return { key, headers, use, view: (id: string, path: string) => use(id, cmd.view(path)) };
}

/** Lists a tenant's reads after a flush. */
export async function listReads(
  service: Service,
  admin: Admin,
  tenant: string,
  query: Record<string, string> = {},
): Promise<Read[]> {
  await flushReads(service);
  const { status, body } = await admin.call('GET', `/tenants/${tenant}/reads?${new URLSearchParams(query)}`);
  expect([status, body]).toMatchObject([200, {}]);
  return body.reads as unknown as Read[];
}

/** Mounts a tenant at /memories/team in another one. */
export async function mountTeam(service: Service, tenant: string, shared: string): Promise<void> {
  await setMount(service.database, tenant, {
    name: 'team',
    tenant: shared,
    access: 'read_only',
    instructions: '',
  });
  service.app.services.policies.forget(tenant);
}
