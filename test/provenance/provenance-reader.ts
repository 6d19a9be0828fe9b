import { expect } from 'vitest';
import type { KeyPurpose } from '../../src/core/tenants/keys.ts';
import type { TenantSettings } from '../../src/core/tenants/settings.ts';
import { Tenants } from '../../src/core/tenants/tenants.ts';
import { makeKey } from '../support/admin.ts';
import { cmd } from '../support/step-table.ts';
import { freshTenant, type Service } from '../support/test-service.ts';

export const A = '/memories/a.md';
export const INCLUDE = { 'x-memory-provenance': 'include' };
export const OMIT = { 'x-memory-provenance': 'omit' };

/** Creates a tenant whose results have provenance on request. */
export async function newTenant(
  { database }: Service,
  settings: Partial<TenantSettings> = { provenance: 'on_request' },
): Promise<string> {
  const tenant = freshTenant('provenance');
  await new Tenants(database).createWith(tenant, settings);
  return tenant;
}

/** Replaces the days in a result. */
export const anyDay = (content: unknown) => String(content).replaceAll(/\b\d{4}-\d\d-\d\d\b/g, 'DAY');

/** Returns the rows of a result's block, without their days. */
export const blockIn = (content: string) => anyDay(content.slice(content.indexOf('\n[Last') + 1)).split('\n');

/** Returns functions that call the tools with a new key. */
export async function client(service: Service, purpose: Partial<KeyPurpose>) {
  const { key } = await makeKey(service, purpose);
  const auth = { authorization: `Bearer ${key}` };
  const send = async (input: object, headers: Record<string, string> = {}) => {
    const { status, body } = await service.execute(input, { headers: { ...auth, ...headers } });
    expect([status, body]).toMatchObject([200, { is_error: false }]);
    return String(body.content);
  };
  const search = async (payload: object, headers: Record<string, string> = INCLUDE) => {
    const request = { method: 'POST', url: '/search', headers: { ...auth, ...headers }, payload } as const;
    return (await service.app.inject(request)).json().content as string;
  };
  const block = async (path = A) => blockIn(await send(cmd.view(path), INCLUDE));
  return { key, auth, send, search, block };
}
