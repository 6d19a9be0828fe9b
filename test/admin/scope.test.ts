/**
 * Other tenants are hidden from an admin key with a scope.
 *
 * @module-tag long-on-pglite
 */
import { expect, it } from 'vitest';
import { setMount } from '../../src/core/tenants/mounts.ts';
import { Tenants } from '../../src/core/tenants/tenants.ts';
import { makeKey, problem, useAdmin } from '../support/admin.ts';
import { cmd } from '../support/step-table.ts';
import { describeService, freshTenant } from '../support/test-service.ts';

describeService('a scoped admin key', (service) => {
  const admin = useAdmin(service);
  const newTenant = async (name: string) => {
    const tenant = freshTenant(name);
    await new Tenants(service().database).create(tenant);
    return tenant;
  };
  const mount = (tenant: string, mounted: string) =>
    setMount(service().database, tenant, {
      name: mounted.replaceAll('_', '-'),
      tenant: mounted,
      access: 'read_write',
      instructions: '',
    });
  const createScopedKey = async (...onlyTenants: string[]) =>
    (await makeKey(service(), { isAdmin: true, onlyTenants })).key;

  it('omits mounting tenants outside the scope from the error when a scoped key deletes a mounted tenant', async () => {
    const [own, hidden, seen] = [await newTenant('own'), await newTenant('hidden'), await newTenant('seen')];
    await mount(hidden, own);
    const remove = async (key: string) => problem(await admin().call('DELETE', `/tenants/${own}`, { key }));
    const mountedProblem = (by: string) => [
      409,
      'rejected',
      `Tenant ${own} is mounted by ${by}. Without it, these mounts would be unavailable.`,
    ];
    expect(await remove(await createScopedKey(own))).toStrictEqual(mountedProblem('other tenants'));
    await mount(seen, own);
    expect(await remove(await createScopedKey(own, seen))).toStrictEqual(
      mountedProblem(`${seen} and others`),
    );
  });

  it('hides tenant IDs outside the scope in mounts, tenants, versions, and the audit trail', async () => {
    const [own, hidden] = [await newTenant('own'), await newTenant('hidden')];
    await mount(own, hidden);
    await mount(hidden, own);
    const path = `/memories/${own.replaceAll('_', '-')}/f.md`;
    expect((await service().execute(cmd.create(path, 'x'), { tenant: hidden })).is_error).toBe(false);
    const body = { tenant: hidden, access: 'read_only' };
    expect((await admin().call('PUT', `/tenants/${own}/mounts/more`, { body })).status).toBe(200);
    const to = freshTenant('copied');
    expect((await admin().call('POST', `/tenants/${own}/copy`, { body: { to } })).status).toBe(200);
    const key = await createScopedKey(own);
    const urls = [
      `/tenants/${own}`,
      '/tenants',
      `/tenants/${own}/mounts`,
      `/tenants/${own}/versions`,
      `/tenants/${own}/export?history=true`,
      '/audit',
      `/audit?tenant=${own}`,
      '/keys',
      '/drafts',
    ];
    for (const url of urls) {
      const { status, text } = await admin().call('GET', url, { key });
      // The mount here is named after the tenant, so the name itself is no leak.
      const named = text.replaceAll(hidden.replaceAll('_', '-'), '');
      expect([url, status, named.includes(hidden), named.includes(to)]).toStrictEqual([
        url,
        200,
        false,
        false,
      ]);
    }
    for (const url of [`/tenants/${own}/versions`, `/tenants/${own}/export?history=true`])
      expect((await admin().call('GET', url)).text).toContain(hidden);
  });

  it("hides a mounted tenant's status from a scoped key if the tenant is outside the scope", async () => {
    const [own, other, gone] = [await newTenant('own'), await newTenant('other'), await newTenant('gone')];
    for (const mounted of [own, other, gone]) if (mounted !== own) await mount(own, mounted);
    await new Tenants(service().database).suspend(other, true);
    await new Tenants(service().database).delete(gone);
    const statuses = async (key?: string) => {
      const { body } = await admin().call('GET', `/tenants/${own}/mounts`, key === undefined ? {} : { key });
      const mounts = body.mounts as { status: string | null }[];
      return mounts.map(({ status }) => status).sort();
    };
    expect(await statuses()).toStrictEqual(['missing', 'suspended']);
    expect(await statuses(await createScopedKey(own))).toStrictEqual([null, null]);
  });

  it('returns the same response for an existing and a missing tenant outside the scope', async () => {
    const [own, hidden] = [await newTenant('own'), await newTenant('hidden')];
    const key = await createScopedKey(own);
    const missing = freshTenant('missing');
    const requests = [
      ['GET', (id: string) => `/tenants/${id}`, undefined],
      ['DELETE', (id: string) => `/tenants/${id}`, undefined],
      ['POST', () => `/tenants/${own}/copy`, (id: string) => ({ to: id })],
      ['POST', () => '/tenants', (id: string) => ({ id })],
      ['PUT', () => `/tenants/${own}/mounts/m`, (id: string) => ({ tenant: id, access: 'read_only' })],
      ['POST', () => '/keys', (id: string) => ({ kind: 'tenant', tenant: id, access: 'read_only' })],
      ['GET', (id: string) => `/keys?tenant=${id}`, undefined],
      ['GET', (id: string) => `/audit?tenant=${id}`, undefined],
    ] as const;
    for (const [method, url, body] of requests) {
      const responses = [];
      for (const id of [hidden, missing]) {
        const { status, text } = await admin().call(method, url(id), {
          key,
          ...(body && { body: body(id) }),
        });
        responses.push([status, text.replaceAll(id, 'ID').replace(/"request_id":"[^"]*"/, '')]);
      }
      expect(responses[0]).toStrictEqual(responses[1]);
    }
  });
});
