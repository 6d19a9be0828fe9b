/**
 * Memory commands in the admin API.
 *
 * @module-tag long-on-pglite
 */
import { expect, it } from 'vitest';
import { setMount } from '../../src/core/tenants/mounts.ts';
import { Tenants } from '../../src/core/tenants/tenants.ts';
import { makeKey, problem, useAdmin } from '../support/admin.ts';
import { describeService, freshTenant } from '../support/test-service.ts';

describeService('memory commands by an operator', (service) => {
  const admin = useAdmin(service);
  const newTenant = async () => {
    const tenant = freshTenant();
    await new Tenants(service().database).create(tenant);
    return tenant;
  };
  const execute = (tenant: string, body: object, key = admin().key.key) =>
    admin().call('POST', `/tenants/${tenant}/execute`, { body, key });
  const create = { command: 'create', path: '/memories/a.md', file_text: 'one\n' };

  it("returns an agent's result, and records a write as the operator's", async () => {
    const tenant = await newTenant();
    const result = async (body: object) => (await execute(tenant, body)).body;
    expect(await result(create)).toStrictEqual({
      content: 'File created successfully at: /memories/a.md',
      is_error: false,
    });
    expect(await result({ command: 'view', path: '/memories/a.md' })).toStrictEqual({
      content: "Here's the content of /memories/a.md with line numbers:\n     1\tone\n     2\t",
      is_error: false,
    });
    expect(await result({ command: 'view', path: '/memories/b.md' })).toStrictEqual({
      content: 'The path /memories/b.md does not exist. Please provide a valid path.',
      is_error: true,
    });
    expect(await result({})).toStrictEqual({
      content: 'Error: Invalid input for memory: `command` is missing',
      is_error: true,
    });
    const { versions } = (await admin().call('GET', `/tenants/${tenant}/versions`)).body;
    expect(versions).toMatchObject([{ path: '/memories/a.md', actor: { type: 'admin_key' } }]);
    const { events } = (await admin().call('GET', `/audit?tenant=${tenant}&action=runCommand`)).body;
    expect(events).toMatchObject([
      { details: { command: 'unknown' } },
      { details: { command: 'view' } },
      { details: { command: 'view' } },
      { details: { command: 'create' } },
    ]);
  });

  it('applies a change to the settings immediately, and rejects a write to an archived memory', async () => {
    const tenant = await newTenant();
    await execute(tenant, create);
    expect((await execute(tenant, create)).body.is_error).toBe(true);
    await admin().call('PATCH', `/tenants/${tenant}`, {
      body: { settings: { create_existing: 'overwrite' } },
    });
    expect((await execute(tenant, create)).body.is_error).toBe(false);
    await admin().call('POST', `/tenants/${tenant}/archive`);
    expect((await execute(tenant, create)).body.is_error).toBe(true);
    await new Tenants(service().database).suspend(tenant, true);
    expect(problem(await execute(tenant, create))).toStrictEqual([
      403,
      'tenant_suspended',
      `Tenant ${tenant} is suspended.`,
    ]);
  });

  it("shows mounts in the key's scope, and rejects writes to a mount with `propose`", async () => {
    const [own, team] = [await newTenant(), await newTenant()];
    await execute(team, create);
    const mount = { name: 'team', tenant: team, access: 'propose' as const, instructions: '' };
    await setMount(service().database, own, mount);
    const view = { command: 'view', path: '/memories/team/a.md' };
    expect((await execute(own, view)).body.is_error).toBe(false);
    expect((await execute(own, { ...create, path: '/memories/team/b.md' })).body.is_error).toBe(true);
    const { key } = await makeKey(service(), { isAdmin: true, onlyTenants: [own] });
    expect((await execute(own, view, key)).body.is_error).toBe(true);
    const reader = await makeKey(service(), { isAdmin: true, access: 'read_only' });
    expect((await execute(own, view, reader.key)).body.code).toBe('read_only_key');
  });
});
