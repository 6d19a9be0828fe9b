/**
 * Writes below a mount: the mounted memory's policy, the history, and idempotency.
 *
 * @module-tag long-on-pglite
 */
import { expect, it } from 'vitest';
import { History } from '../../src/core/history/history.ts';
import { Keys, newApiKey } from '../../src/core/tenants/keys.ts';
import { setMount } from '../../src/core/tenants/mounts.ts';
import { cmd } from '../support/step-table.ts';
import { tenantWithMounts } from '../support/tenant-with-mounts.ts';
import { describeService, type Service, startSharedService } from '../support/test-service.ts';

const TOKEN = 'ghp_012345678901234567890123456789abcdef';

describeService('writes through a mount', (service) => {
  const contents = async (tenant: string, ...inputs: object[]) => {
    const answers = [];
    for (const input of inputs) answers.push((await service().execute(input, { tenant })).content);
    return answers;
  };

  it("applies the mounted memory's limits, quota, and overwrite setting", async () => {
    const { own } = await tenantWithMounts(service(), {
      small: { settings: { maxFileBytes: 4, maxFiles: 1, createExisting: 'overwrite' } },
    });
    expect(
      await contents(
        own,
        cmd.create('/memories/small/f', '12345'),
        cmd.create('/memories/small/f', '1234'),
        cmd.create('/memories/small/f', '4321'),
        cmd.create('/memories/small/g', ''),
        cmd.create('/memories/f', '12345'),
        cmd.create('/memories/f', '1'),
        cmd.create('/memories/g', ''),
      ),
    ).toStrictEqual([
      'Error: File /memories/small/f exceeds the maximum memory file size of 4 bytes',
      'File created successfully at: /memories/small/f',
      'File created successfully at: /memories/small/f',
      'Error: This memory is full: it has 1 files, and 1 are allowed. Delete files to make room.',
      'File created successfully at: /memories/f',
      'Error: File /memories/f already exists',
      'File created successfully at: /memories/g',
    ]);
  });

  it("applies the mounted memory's secrets setting", async () => {
    const { own } = await tenantWithMounts(service(), {
      strict: { settings: { secrets: 'reject' } },
      masked: { settings: { secrets: 'mask' } },
    });
    const inputs = ['/memories/strict/f', '/memories/masked/f', '/memories/f'].map((path) =>
      cmd.create(path, `token ${TOKEN}`),
    );
    expect(
      await contents(own, ...inputs, cmd.view('/memories/masked/f'), cmd.view('/memories/f')),
    ).toStrictEqual([
      'Error: Nothing was written: the text contains what looks like a secret (github_token). Leave it out and try again.',
      'File created successfully at: /memories/masked/f\n[1 secret was masked before storing: github_token]',
      'File created successfully at: /memories/f',
      "Here's the content of /memories/masked/f with line numbers:\n     1\ttoken [REDACTED:github_token]",
      `Here's the content of /memories/f with line numbers:\n     1\ttoken ${TOKEN}`,
    ]);
  });

  it("applies the agent's view limit, not the mounted memory's limit", async () => {
    const { own, team } = await tenantWithMounts(service(), { team: { settings: { maxViewChars: 60 } } });
    const text = Array.from({ length: 8 }, (_, i) => `line ${i}`).join('\n');
    await contents(team, cmd.create('/memories/f', text));
    const [mine] = await contents(own, cmd.view('/memories/team/f'));
    expect(mine?.split('\n')).toHaveLength(9);
  });

  it("records the mounting tenant in the mounted memory's history for a write through a mount", async () => {
    const { own, team } = await tenantWithMounts(service(), { team: {} });
    await contents(own, cmd.create('/memories/team/f', 'x'), cmd.create('/memories/f', 'x'));
    await contents(team, cmd.create('/memories/g', 'x'));
    const history = new History(service().database);
    const readVersions = async (tenant: string) => {
      const found = [];
      for await (const { path, actor, viaTenant } of history.versions(tenant, {}))
        found.push({ path, actor, viaTenant });
      return found;
    };
    expect(await readVersions(team)).toStrictEqual([
      { path: '/memories/g', actor: { type: 'anonymous' }, viaTenant: null },
      { path: '/memories/f', actor: { type: 'anonymous' }, viaTenant: own },
    ]);
    expect(await readVersions(own)).toStrictEqual([
      { path: '/memories/f', actor: { type: 'anonymous' }, viaTenant: null },
    ]);
  });
});

const executeWithKey = (service: () => Service, tenant: string) => async (key: string, input: object) => {
  const answer = await service().execute(input, { tenant, headers: { 'idempotency-key': key } });
  const { content, headers, body } = answer;
  return [content ?? body.code, headers['idempotency-replayed'] === 'true'];
};

describeService('a write under an idempotency key', (service, kind) => {
  it('returns the stored result if a write below a mount is repeated under its idempotency key', async () => {
    const { own, team } = await tenantWithMounts(service(), { team: {} });
    const send = executeWithKey(service, own);
    const [create, insert] = [cmd.create('/memories/team/f', 'a'), cmd.insert('/memories/team/f', 0, 'x')];
    expect(await send('k1', create)).toStrictEqual(['File created successfully at: /memories/team/f', false]);
    expect(await send('k1', create)).toStrictEqual(['File created successfully at: /memories/team/f', true]);
    expect(await send('k2', insert)).toStrictEqual(['The file /memories/team/f has been edited.', false]);
    expect(await send('k2', insert)).toStrictEqual(['The file /memories/team/f has been edited.', true]);
    expect(await send('k3', create)).toStrictEqual(['Error: File /memories/team/f already exists', false]);
    await service().execute(cmd.delete('/memories/f'), { tenant: team });
    expect(await send('k3', create)).toStrictEqual(['Error: File /memories/team/f already exists', true]);
  });

  it('rejects a used idempotency key with another input, even if the input is for another memory', async () => {
    const { own } = await tenantWithMounts(service(), { team: {}, other: {} });
    const send = executeWithKey(service, own);
    const reused = ['idempotency_key_reused', false];
    await send('k1', cmd.create('/memories/team/f', ''));
    for (const path of ['/memories/team/g', '/memories/other/f', '/memories/f'])
      expect(await send('k1', cmd.create(path, ''))).toStrictEqual(reused);
    await send('k2', cmd.create('/memories/mine', ''));
    expect(await send('k2', cmd.create('/memories/team/g', ''))).toStrictEqual(reused);
    const view = await service().execute(cmd.view('/memories'), { tenant: own });
    expect(view.content.split('\n').slice(1)).toStrictEqual([
      '4.0K\t/memories',
      '0B\t/memories/mine',
      '4.0K\t/memories/other/',
      '4.0K\t/memories/team/',
      '0B\t/memories/team/f',
    ]);
  });

  it('lets two agents and the memory that both mount use the same idempotency key', async () => {
    const { own, team } = await tenantWithMounts(service(), { team: {} });
    const { own: second } = await tenantWithMounts(service(), {});
    await setMount(service().database, second, {
      name: 'team',
      tenant: team,
      access: 'read_write',
      instructions: '',
    });
    const path = (name: string) => `File created successfully at: ${name}`;
    expect(await executeWithKey(service, own)('k', cmd.create('/memories/team/a', ''))).toStrictEqual([
      path('/memories/team/a'),
      false,
    ]);
    expect(await executeWithKey(service, second)('k', cmd.create('/memories/team/b', ''))).toStrictEqual([
      path('/memories/team/b'),
      false,
    ]);
    expect(await executeWithKey(service, team)('k', cmd.create('/memories/c', ''))).toStrictEqual([
      path('/memories/c'),
      false,
    ]);
  });

  it('rejects a repeated write under its idempotency key if the mount was removed or changed', async () => {
    const { own, team } = await tenantWithMounts(service(), { team: {} });
    const input = cmd.create('/memories/team/f', '');
    await executeWithKey(service, own)('k', input);
    const { team: another } = await tenantWithMounts(service(), { team: {} });
    const remount = (mounted: string) =>
      setMount(service().database, own, {
        name: 'team',
        tenant: mounted,
        access: 'read_write',
        instructions: '',
      });
    await remount(another);
    const replica = await startSharedService(kind);
    try {
      expect(await executeWithKey(() => replica, own)('k', input)).toStrictEqual([
        'idempotency_key_reused',
        false,
      ]);
    } finally {
      await replica.close();
    }
    await service().query('UPDATE tenants SET mounts = NULL WHERE id = $1', [own]);
    const later = await startSharedService(kind);
    try {
      expect(await executeWithKey(() => later, own)('k', input)).toStrictEqual([
        'idempotency_key_reused',
        false,
      ]);
    } finally {
      await later.close();
    }
    expect(
      await service().query('SELECT tenant_id FROM entries WHERE path = $1 AND tenant_id = ANY ($2)', [
        '/memories/f',
        [own, team, another],
      ]),
    ).toStrictEqual([{ tenant_id: team }]);
  });

  it('returns an error for the second block if two blocks in an array have the same ID', async () => {
    const { own } = await tenantWithMounts(service(), { team: {} });
    const block = (path: string) => ({
      type: 'tool_use',
      id: 't',
      name: 'memory',
      input: cmd.create(path, ''),
    });
    const { body } = await service().execute([block('/memories/team/f'), block('/memories/f')], {
      tenant: own,
    });
    expect(body).toMatchObject([
      { content: 'File created successfully at: /memories/team/f' },
      {
        content:
          'Error: This call was not run: the id of its tool_use block was used for another write before. Send it again under a new id.',
      },
    ]);
  });
});

describeService(
  'a key below a mount',
  (service) => {
    const createMountKey = async (tenant: string, access: 'read_write' | 'read_only', label: string) => {
      const { key, hash, id } = newApiKey();
      await new Keys(service().database).create({ hash, id, tenant, access, label, expiresAt: null });
      return { id, headers: { authorization: `Bearer ${key}` } };
    };

    it('rejects writes below a mount if the key is read-only', async () => {
      const { own } = await tenantWithMounts(service(), { team: {}, handbook: { access: 'read_only' } });
      const { headers } = await createMountKey(own, 'read_only', '');
      const inputs = [
        cmd.create('/memories/team/f', ''),
        cmd.create('/memories/handbook/f', ''),
        cmd.delete('/memories/team'),
        cmd.rename('/memories/f', '/memories/team/f'),
      ];
      for (const input of inputs) {
        const { content } = await service().execute(input, { headers });
        expect([input, content]).toStrictEqual([input, 'Error: This memory is read-only']);
      }
      const { content } = await service().execute(cmd.view('/memories/team'), { headers });
      expect(content).toMatch(/4\.0K\t\/memories\/team$/);
    });

    it("names the agent's key in the mounted memory's history, and rejects direct access with this key", async () => {
      const { own, team } = await tenantWithMounts(service(), { team: {} });
      const { id, headers } = await createMountKey(own, 'read_write', 'builder');
      await service().execute(cmd.create('/memories/team/f', 'x'), { headers });
      const [version] = await service().query(
        'SELECT origin FROM entries WHERE tenant_id = $1 AND path = $2',
        [team, '/memories/f'],
      );
      expect(version?.origin).toMatchObject({
        actor: { type: 'api_key', id, label: 'builder' },
        viaTenant: own,
      });
      const direct = await service().execute(cmd.view('/memories/f'), {
        headers: { ...headers, 'x-tenant-id': team },
      });
      expect(direct.body.code).toBe('tenant_mismatch');
      const stores = await service().app.inject({ url: `/v1/memory_stores/${team}/memories`, headers });
      expect(stores.statusCode).toBe(404);
      const ownStore = await service().app.inject({ url: `/v1/memory_stores/${own}/memories`, headers });
      expect(ownStore.json().data).toStrictEqual([]);
    });
  },
  { AUTH: 'keys' },
);
