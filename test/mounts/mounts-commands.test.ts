/**
 * The commands on a tree with several memories, with every string in docs/contract.md.
 *
 * @module-tag long-on-pglite
 */
import { expect, it } from 'vitest';
import { setMount } from '../../src/core/tenants/mounts.ts';
import { Tenants } from '../../src/core/tenants/tenants.ts';
import { cmd } from '../support/step-table.ts';
import { tenantWithMounts } from '../support/tenant-with-mounts.ts';
import { describeService, freshTenant, type Service, startSharedService } from '../support/test-service.ts';

const listing = (path: string, lines: string) =>
  `Here're the files and directories up to 2 levels deep in ${path}, excluding hidden items and node_modules:\n${lines}`;

/** Runs commands for a tenant. Returns their contents, with `! ` before errors. */
const run =
  (service: () => Service) =>
  async (tenant: string, ...inputs: object[]): Promise<string[]> => {
    const results: string[] = [];
    for (const input of inputs) {
      const { status, content, is_error } = await service().execute(input, { tenant });
      expect(status).toBe(200);
      results.push(is_error ? `! ${content}` : content);
    }
    return results;
  };

describeService('a root view', (service) => {
  const on = run(service);

  it("lists the agent's own entries and its mounts in one sorted list, two levels deep", async () => {
    const { own, team, 'B-side': side } = await tenantWithMounts(service(), { team: {}, 'B-side': {} });
    await on(
      team,
      cmd.create('/memories/notes.md', 'x'.repeat(2048)),
      cmd.create('/memories/deep/er/f', '1'),
    );
    await on(team, cmd.create('/memories/.hidden', 'x'), cmd.create('/memories/node_modules/x', 'x'));
    await on(side, cmd.create('/memories/a', ''));
    await on(own, cmd.create('/memories/a.txt', 'a'), cmd.create('/memories/team0', ''));
    await on(own, cmd.create('/memories/team-mates/x', 'ab'), cmd.create('/memories/z/y/x', ''));
    expect(await on(own, cmd.view('/memories'))).toStrictEqual([
      listing(
        '/memories',
        [
          '4.0K\t/memories',
          '4.0K\t/memories/B-side/',
          '0B\t/memories/B-side/a',
          '1B\t/memories/a.txt',
          '4.0K\t/memories/team/',
          '4.0K\t/memories/team/deep/',
          '2.0K\t/memories/team/notes.md',
          '4.0K\t/memories/team-mates/',
          '2B\t/memories/team-mates/x',
          '0B\t/memories/team0',
          '4.0K\t/memories/z/',
          '4.0K\t/memories/z/y/',
        ].join('\n'),
      ),
    ]);
  });

  it("shows an empty mounted memory as a directory, even before the agent's first write", async () => {
    const { own } = await tenantWithMounts(service(), { 'tëam 文': {} });
    expect(await on(own, cmd.view('/memories/'), cmd.view('/memories/tëam 文'))).toStrictEqual([
      listing('/memories', '4.0K\t/memories\n4.0K\t/memories/tëam 文/'),
      listing('/memories/tëam 文', '4.0K\t/memories/tëam 文'),
    ]);
  });

  it('hides the mounts that a mounted memory itself has', async () => {
    const { own, team } = await tenantWithMounts(service(), { team: {} });
    const other = freshTenant('other');
    await new Tenants(service().database).create(other);
    await setMount(service().database, team, {
      name: 'inner',
      tenant: other,
      access: 'read_write',
      instructions: '',
    });
    await on(other, cmd.create('/memories/secret', 'x'));
    expect(await on(own, cmd.view('/memories'), cmd.view('/memories/team/inner/secret'))).toStrictEqual([
      listing('/memories', '4.0K\t/memories\n4.0K\t/memories/team/'),
      '! The path /memories/team/inner/secret does not exist. Please provide a valid path.',
    ]);
    expect(await on(own, cmd.create('/memories/team/inner/f', 'mine'))).toStrictEqual([
      'File created successfully at: /memories/team/inner/f',
    ]);
    expect(await on(other, cmd.view('/memories'))).toStrictEqual([
      listing('/memories', '4.0K\t/memories\n1B\t/memories/secret'),
    ]);
  });
});

describeService(
  'a long root view',
  (service) => {
    const on = run(service);

    it('truncates a long root view, and counts the entries in mounts among all entries', async () => {
      const { own, m } = await tenantWithMounts(service(), { m: {} });
      for (const name of ['f1', 'f2', 'f3', 'f4', 'f5']) {
        await on(own, cmd.create(`/memories/${name}`, ''));
        await on(m, cmd.create(`/memories/${name}`, ''));
      }
      for (const name of ['f6', 'f7', 'f8', 'f9']) await on(m, cmd.create(`/memories/${name}`, ''));
      await on(own, cmd.create('/memories/z', ''));
      expect(await on(own, cmd.view('/memories'))).toStrictEqual([
        listing(
          '/memories',
          [
            '4.0K\t/memories',
            '0B\t/memories/f1',
            '0B\t/memories/f2',
            '0B\t/memories/f3',
            '0B\t/memories/f4',
            '0B\t/memories/f5',
            '[Truncated: showing 5 of 16 entries. View a subdirectory to see the rest.]',
          ].join('\n'),
        ),
      ]);
      // The mount is the last entry that fits.
      await on(own, ...['f1', 'f2', 'f3', 'f4', 'f5'].map((name) => cmd.delete(`/memories/${name}`)));
      expect(await on(own, cmd.view('/memories'))).toStrictEqual([
        listing(
          '/memories',
          [
            '4.0K\t/memories',
            '4.0K\t/memories/m/',
            '0B\t/memories/m/f1',
            '0B\t/memories/m/f2',
            '0B\t/memories/m/f3',
            '[Truncated: showing 4 of 11 entries. View a subdirectory to see the rest.]',
          ].join('\n'),
        ),
      ]);
    });
  },
  { MAX_VIEW_CHARS: '285' },
);

describeService('a command below a mount', (service) => {
  const on = run(service);

  it('runs commands below a mount on the mounted memory, and returns the paths that the agent sees', async () => {
    const { own, team } = await tenantWithMounts(service(), { team: {} });
    expect(
      await on(
        own,
        cmd.create('/memories/team/a/f', 'one\ntwo'),
        cmd.replace('/memories/team/a/f', 'two', '2'),
        cmd.insert('/memories/team/a/f', 0, 'zero'),
        cmd.rename('/memories/team/a/f', '/memories/team/b/g'),
        cmd.view('/memories/team/b/g'),
        cmd.create('/memories/team/b/g/x', ''),
        cmd.rename('/memories/team/a', '/memories/team/b/g/x'),
        cmd.rename('/memories/team/b', '/memories/team/b/c'),
        cmd.delete('/memories/team/a'),
        cmd.view('/memories/team'),
      ),
    ).toStrictEqual([
      'File created successfully at: /memories/team/a/f',
      'The memory file has been edited. Here is the snippet showing the change (with line numbers):\n     1\tone\n     2\t2',
      'The file /memories/team/a/f has been edited.',
      'Successfully renamed /memories/team/a/f to /memories/team/b/g',
      "Here's the content of /memories/team/b/g with line numbers:\n     1\tzero\n     2\tone\n     3\t2",
      '! Error: /memories/team/b/g is not a directory',
      '! Error: /memories/team/b/g is not a directory',
      '! Error: Cannot rename /memories/team/b to /memories/team/b/c, which is inside it',
      'Successfully deleted /memories/team/a',
      listing('/memories/team', '4.0K\t/memories/team\n4.0K\t/memories/team/b/\n10B\t/memories/team/b/g'),
    ]);
    expect(await on(team, cmd.view('/memories/b/g'))).toStrictEqual([
      "Here's the content of /memories/b/g with line numbers:\n     1\tzero\n     2\tone\n     3\t2",
    ]);
  });

  it('checks the path limit against the path that the agent sees', async () => {
    const { own, team } = await tenantWithMounts(service(), { team: {} });
    const deep = '/d'.repeat(18);
    expect(
      await on(own, cmd.create(`/memories/team${deep}/f`, ''), cmd.create(`/memories/team${deep}/e/f`, '')),
    ).toStrictEqual([
      `File created successfully at: /memories/team${deep}/f`,
      '! Error: Path is too long: 21 levels below /memories (limit 20)',
    ]);
    expect(await on(own, cmd.rename('/memories/team/d', '/memories/team/x/d'))).toStrictEqual([
      '! Error: Path is too long: 21 levels below /memories (limit 20)',
    ]);
    expect(await on(team, cmd.rename('/memories/d', '/memories/x/d'))).toStrictEqual([
      'Successfully renamed /memories/d to /memories/x/d',
    ]);
  });

  it('rejects creating, renaming, or deleting the mount itself', async () => {
    const { own } = await tenantWithMounts(service(), { team: {}, handbook: { access: 'read_only' } });
    await on(own, cmd.create('/memories/f', ''));
    expect(
      await on(
        own,
        cmd.create('/memories/team', ''),
        cmd.delete('/memories/team'),
        cmd.delete('/memories/handbook/'),
        cmd.rename('/memories/team', '/memories/other'),
        cmd.rename('/memories/f', '/memories/team'),
        cmd.rename('/memories/team', '/memories'),
        cmd.delete('/memories'),
        cmd.rename('/memories', '/memories/team/x'),
        cmd.replace('/memories/team', 'a', 'b'),
        cmd.insert('/memories/team', 0, 'x'),
      ),
    ).toStrictEqual([
      '! Error: File /memories/team already exists',
      '! Error: Cannot delete /memories/team: another memory is mounted there',
      '! Error: Cannot delete /memories/handbook: another memory is mounted there',
      '! Error: Cannot rename /memories/team: another memory is mounted there',
      '! Error: The destination /memories/team already exists',
      '! Error: The destination /memories already exists',
      '! Error: Cannot delete the /memories directory itself',
      '! Error: Cannot rename the /memories directory itself',
      '! Error: The path /memories/team does not exist. Please provide a valid path.',
      '! Error: The path /memories/team does not exist',
    ]);
  });

  it('rejects moving a file to another memory', async () => {
    const { own, team } = await tenantWithMounts(service(), {
      team: {},
      other: {},
      handbook: { access: 'read_only' as const },
    });
    await on(own, cmd.create('/memories/f', 'x'), cmd.create('/memories/team/f', 'x'));
    expect(
      await on(
        own,
        cmd.rename('/memories/f', '/memories/team/g'),
        cmd.rename('/memories/team/f', '/memories/g'),
        cmd.rename('/memories/team/f', '/memories/other/f'),
        cmd.rename('/memories/f', '/memories/handbook/f'),
        cmd.rename('/memories/handbook/f', '/memories/g'),
        cmd.view('/memories/f'),
      ),
    ).toStrictEqual([
      '! Error: Cannot rename /memories/f to /memories/team/g: they are in different memories. Create /memories/team/g with the same content, then delete /memories/f.',
      '! Error: Cannot rename /memories/team/f to /memories/g: they are in different memories. Create /memories/g with the same content, then delete /memories/team/f.',
      '! Error: Cannot rename /memories/team/f to /memories/other/f: they are in different memories. Create /memories/other/f with the same content, then delete /memories/team/f.',
      '! Error: /memories/handbook is read-only. Write to your own directories under /memories, /memories/other, or /memories/team instead.',
      '! Error: Cannot rename /memories/handbook/f to /memories/g: they are in different memories. To have a copy, create /memories/g with the same content.',
      "Here's the content of /memories/f with line numbers:\n     1\tx",
    ]);
    expect(await on(team, cmd.view('/memories'))).toStrictEqual([
      listing('/memories', '4.0K\t/memories\n1B\t/memories/f'),
    ]);
  });

  it('rejects commands other than view below a read-only mount', async () => {
    const { own, handbook } = await tenantWithMounts(service(), { handbook: { access: 'read_only' } });
    await on(handbook, cmd.create('/memories/f', 'rules'));
    const rejected =
      '! Error: /memories/handbook is read-only. Write to your own directories under /memories instead.';
    expect(
      await on(
        own,
        cmd.view('/memories/handbook/f'),
        cmd.create('/memories/handbook/g', ''),
        cmd.create('/memories/handbook', ''),
        cmd.replace('/memories/handbook/f', 'rules', 'none'),
        cmd.insert('/memories/handbook/f', 0, 'x'),
        cmd.delete('/memories/handbook/f'),
        cmd.rename('/memories/handbook/f', '/memories/handbook/g'),
        cmd.create('/memories/mine', ''),
      ),
    ).toStrictEqual([
      "Here's the content of /memories/handbook/f with line numbers:\n     1\trules",
      rejected,
      rejected,
      rejected,
      rejected,
      rejected,
      rejected,
      'File created successfully at: /memories/mine',
    ]);
    expect(await on(handbook, cmd.view('/memories'))).toStrictEqual([
      listing('/memories', '4.0K\t/memories\n5B\t/memories/f'),
    ]);
  });

  it('returns the same errors for invalid input below a mount as outside', async () => {
    const { own } = await tenantWithMounts(service(), { team: {}, handbook: { access: 'read_only' } });
    expect(
      await on(
        own,
        { command: 'create', path: '/memories/team/f' },
        { command: 'rename', old_path: '/memories/team/f' },
        { command: 'rename', old_path: '/memories/f', new_path: '/memories/team/../f' },
        { command: 'copy', path: '/memories/team/f' },
        cmd.view('/memories/team/f'),
        cmd.view('/memories/team/../f'),
        cmd.view('/memories/teams'),
      ),
    ).toStrictEqual([
      '! Error: Invalid input for create: `file_text` is missing',
      '! Error: Invalid input for rename: `new_path` is missing',
      '! Error: Path /memories/team/../f would escape /memories directory',
      '! Error: Unknown command: copy. The commands are view, create, str_replace, insert, delete, rename',
      '! The path /memories/team/f does not exist. Please provide a valid path.',
      '! Error: Path /memories/team/../f would escape /memories directory',
      '! The path /memories/teams does not exist. Please provide a valid path.',
    ]);
  });

  it("runs an array whose commands are below a mount and in the agent's own memory", async () => {
    const { own } = await tenantWithMounts(service(), { team: {} });
    const block = (id: string, input: object) => ({ type: 'tool_use', id, name: 'memory', input });
    const { body } = await service().execute(
      [
        block('t1', cmd.create('/memories/team/f', 'x')),
        block('t2', cmd.create('/memories/f', 'y')),
        block('t3', cmd.view('/memories')),
      ],
      { tenant: own },
    );
    expect(body).toStrictEqual([
      ...[
        ['t1', 'File created successfully at: /memories/team/f'],
        ['t2', 'File created successfully at: /memories/f'],
        [
          't3',
          listing(
            '/memories',
            '4.0K\t/memories\n1B\t/memories/f\n4.0K\t/memories/team/\n1B\t/memories/team/f',
          ),
        ],
      ].map(([id, content]) => ({ type: 'tool_result', tool_use_id: id, content, is_error: false })),
    ]);
  });
});

describeService('a mount whose memory is not available', (service, kind) => {
  const on = run(service);
  /** Runs commands on a replica with an empty cache. */
  const runOnReplica = async (tenant: string, ...inputs: object[]) => {
    const replica = await startSharedService(kind);
    try {
      return await run(() => replica)(tenant, ...inputs);
    } finally {
      await replica.close();
    }
  };

  it('returns an error for a mount whose memory is not available, and serves the rest of the memory', async () => {
    const ids = await tenantWithMounts(service(), { team: {}, gone: {}, well: {} });
    const tenants = new Tenants(service().database);
    await on(ids.own, cmd.create('/memories/well/f', ''), cmd.create('/memories/team/f', ''));
    await tenants.suspend(ids.team, true);
    await tenants.delete(ids.gone);
    const inputs = [
      cmd.view('/memories'),
      cmd.view('/memories/team/f'),
      cmd.create('/memories/gone/f', ''),
      cmd.view('/memories/well'),
      cmd.create('/memories/f', ''),
    ];
    expect(await runOnReplica(ids.own, ...inputs)).toStrictEqual([
      listing(
        '/memories',
        [
          '4.0K\t/memories',
          '4.0K\t/memories/gone/',
          '4.0K\t/memories/team/',
          '4.0K\t/memories/well/',
          '0B\t/memories/well/f',
          '[/memories/gone is not available: the memory mounted there does not exist.]',
          '[/memories/team is not available: the memory mounted there is suspended.]',
        ].join('\n'),
      ),
      '! Error: /memories/team is not available: the memory mounted there is suspended. You can still use the rest of /memories.',
      '! Error: /memories/gone is not available: the memory mounted there does not exist. You can still use the rest of /memories.',
      listing('/memories/well', '4.0K\t/memories/well\n0B\t/memories/well/f'),
      'File created successfully at: /memories/f',
    ]);
    await tenants.suspend(ids.team, false);
    expect(await runOnReplica(ids.own, cmd.view('/memories/team'))).toStrictEqual([
      listing('/memories/team', '4.0K\t/memories/team\n0B\t/memories/team/f'),
    ]);
  });

  it('reports a mounted memory as missing after its deletion, even while its policy is cached', async () => {
    const { own, team } = await tenantWithMounts(service(), { team: {} });
    await on(own, cmd.create('/memories/team/f', ''));
    await new Tenants(service().database).delete(team);
    expect(await on(own, cmd.create('/memories/team/g', ''))).toStrictEqual([
      '! Error: /memories/team is not available: the memory mounted there does not exist. You can still use the rest of /memories.',
    ]);
    expect(await service().query('SELECT 1 FROM entries WHERE tenant_id = $1', [team])).toStrictEqual([]);
  });

  it('rejects writes to an archived mounted memory, except deletions', async () => {
    const { own, team } = await tenantWithMounts(service(), { team: {}, other: {} });
    await on(own, cmd.create('/memories/team/f', 'x'));
    await service().query('UPDATE tenants SET archived_at = now() WHERE id = $1', [team]);
    const rejected =
      '! Error: /memories/team is read-only. Write to your own directories under /memories or /memories/other instead.';
    expect(
      await on(
        own,
        cmd.create('/memories/team/g', ''),
        cmd.replace('/memories/team/f', 'x', 'y'),
        cmd.view('/memories/team/f'),
        cmd.delete('/memories/team/f'),
      ),
    ).toStrictEqual([
      rejected,
      rejected,
      "Here's the content of /memories/team/f with line numbers:\n     1\tx",
      'Successfully deleted /memories/team/f',
    ]);
  });

  it("hides the agent's own directory if a mount has the same name", async () => {
    const { own, team } = await tenantWithMounts(service(), { team: { access: 'read_only' } });
    await on(team, cmd.create('/memories/theirs', ''));
    const [row] = await service().query('SELECT mounts FROM tenants WHERE id = $1', [own]);
    await service().query('UPDATE tenants SET mounts = NULL WHERE id = $1', [own]);
    await on(own, cmd.create('/memories/team/mine', ''), cmd.create('/memories/f', ''));
    const mounts = JSON.stringify(row?.mounts);
    await service().query('UPDATE tenants SET mounts = $2::text::jsonb WHERE id = $1', [own, mounts]);
    const inputs = [cmd.view('/memories'), cmd.view('/memories/team'), cmd.delete('/memories/team/mine')];
    expect(await runOnReplica(own, ...inputs)).toStrictEqual([
      listing(
        '/memories',
        '4.0K\t/memories\n0B\t/memories/f\n4.0K\t/memories/team/\n0B\t/memories/team/theirs',
      ),
      listing('/memories/team', '4.0K\t/memories/team\n0B\t/memories/team/theirs'),
      '! Error: /memories/team is read-only. Write to your own directories under /memories instead.',
    ]);
  });
});
