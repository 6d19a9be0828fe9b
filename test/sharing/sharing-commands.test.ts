/**
 * `memory-service invitations` and `memory-service shares`, and the admin API.
 *
 * @module-tag long-on-pglite
 */
import { expect, it } from 'vitest';
import { Tenants } from '../../src/core/tenants/tenants.ts';
import { makeKey, problem, useAdmin } from '../support/admin.ts';
import { run } from '../support/restore-run.ts';
import { runCli } from '../support/run-cli.ts';
import { cmd } from '../support/step-table.ts';
import { describeService, freshTenant } from '../support/test-service.ts';

describeService('the commands invitations and shares', (service) => {
  const cli = async (args: string[], stdin = '') => {
    const env = { SHARING: 'on' };
    const { stdout, stderr, error } = await runCli(service(), args, { env, stdin: Buffer.from(stdin) });
    return { stdout: stdout.toString(), stderr, error };
  };

  it('create, list, and revoke invitations, and accept, list, and end shares', async () => {
    const [giver, receiver] = [freshTenant('giver'), freshTenant('receiver')];
    for (const tenant of [giver, receiver]) await new Tenants(service().database).create(tenant);
    await run(service(), giver, cmd.create('/memories/a', 'one'));
    const limits = ['--access', 'read_write', '--prefix', '/memories/a', '--expires', '1d'];
    const created = await cli(['invitations', 'create', giver, ...limits]);
    const id = /inv_\w+/.exec(created.stderr)?.[0] ?? '';
    expect(created.stderr).toBe(`Created invitation ${id}. Its token cannot be shown again:\n`);
    expect((await cli(['invitations', 'list', giver])).stdout).toMatch(
      new RegExp(`^ID .*\\n${id} +read_write +/memories/a +no +0 +\\(operator\\) +20`),
    );
    const accepted = await cli(['shares', 'accept', receiver, 'team'], created.stdout);
    const share = /shr_\w+/.exec(accepted.stdout)?.[0] ?? '';
    expect(accepted.stdout).toBe(
      `Mounted /memories/team in tenant ${receiver} by share ${share}. Agents see the change within AUTH_CACHE_SECONDS.\n`,
    );
    expect((await cli(['shares', 'list', giver])).stdout).toMatch(
      new RegExp(`${share} +${receiver} +read_write +/memories/a`),
    );
    expect((await cli(['shares', 'list', receiver])).stdout).toMatch(
      new RegExp(`${share} +${giver} +/memories/team +read_write +/memories/a +ok`),
    );
    expect((await cli(['shares', 'end', giver, share])).stdout).toBe(
      `Ended share ${share}. Agents see the change within AUTH_CACHE_SECONDS.\n`,
    );
    const reusable = await cli(['invitations', 'create', giver, '--reusable', '--json']);
    const { id: other } = JSON.parse(reusable.stdout);
    expect((await cli(['invitations', 'revoke', giver, other])).stdout).toBe(
      `Revoked invitation ${other}.\n`,
    );
    expect((await cli(['invitations', 'list', giver])).stdout).not.toContain(other);
  });

  it('report a text that is not a token, without repeating it', async () => {
    const tenant = freshTenant();
    await new Tenants(service().database).create(tenant);
    const { error, stdout, stderr } = await cli(['shares', 'accept', tenant, 'team'], 'msi_secret\n');
    expect(String(error)).toContain('The field token is not the token of an invitation.');
    expect(`${error}${stdout}${stderr}`).not.toContain('msi_secret');
  });
});

describeService('the admin API for sharing', (service) => {
  const admin = useAdmin(service, { SHARING: 'on' });

  const createTenants = async () => {
    const ids = [freshTenant('giver'), freshTenant('receiver')] as const;
    for (const tenant of ids) await new Tenants(service().database).create(tenant);
    return ids;
  };

  it("hides the other tenant from a key that is limited to one tenant, and rejects the other tenant's routes", async () => {
    const [giver, receiver] = await createTenants();
    const limited = await makeKey(service(), { isAdmin: true, onlyTenants: [receiver] });
    const { token } = (await admin().call('POST', `/tenants/${giver}/invitations`, { body: {} })).body;
    const body = { token, name: 'team' };
    const { key } = limited;
    const accepted = await admin().call('POST', `/tenants/${receiver}/shares`, { body, key });
    expect(accepted).toMatchObject({
      status: 201,
      body: { tenant: null, status: null, path: '/memories/team' },
    });
    const listed = await admin().call('GET', `/tenants/${receiver}/shares`, { key });
    expect(listed.body).toMatchObject({ given: [], received: [{ tenant: null, status: null }] });
    expect((await admin().call('GET', `/tenants/${giver}/shares`, { key })).status).toBe(403);
    const share = accepted.body.id;
    expect((await admin().call('DELETE', `/tenants/${receiver}/shares/${share}`, { key })).status).toBe(204);
  });

  it('needs an admin key with read_write for changes', async () => {
    const [giver] = await createTenants();
    const { key } = await makeKey(service(), { isAdmin: true, access: 'operate' });
    const response = await admin().call('POST', `/tenants/${giver}/invitations`, { body: {}, key });
    expect(response.body.code).toBe('operate_only_key');
    expect((await admin().call('GET', `/tenants/${giver}/invitations`, { key })).status).toBe(200);
  });

  it('creates keys that may share only for a tenant, with read_write', async () => {
    const [tenant] = await createTenants();
    const body = { kind: 'tenant', tenant, can_share: true };
    expect((await admin().call('POST', '/keys', { body })).body.can_share).toBe(true);
    for (const other of [
      { access: 'read_only' },
      { access: 'propose' },
      { kind: 'service', tenant: undefined },
    ])
      expect(problem(await admin().call('POST', '/keys', { body: { ...body, ...other } }))).toStrictEqual([
        400,
        'invalid_parameter',
        'The field can_share is only for tenant keys that may write.',
      ]);
  });
});
