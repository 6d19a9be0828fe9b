/** Rights by path in the memory tool's six commands: the strings that the model reads. */
import { expect, it } from 'vitest';
import { setMount } from '../../src/core/tenants/mounts.ts';
import { Tenants } from '../../src/core/tenants/tenants.ts';
import { keyClient, type RightsByPath, tenantWithFiles } from '../support/rights-client.ts';
import { cmd } from '../support/step-table.ts';
import { describeService, freshTenant } from '../support/test-service.ts';

const MISSING = (path: string) => `The path ${path} does not exist. Please provide a valid path.`;

describeService(
  'commands of a key with rights by path',
  (service) => {
    const run = async (files: Record<string, string>, rights: RightsByPath, inputs: object[]) => {
      const { tenant } = await tenantWithFiles(service(), files);
      const { send } = await keyClient(service(), tenant, rights);
      const contents = [];
      for (const input of inputs) contents.push((await send(input)).content);
      return contents;
    };

    it('shows no hidden file, and no directory that has only hidden files', async () => {
      const files = {
        '/memories/a.md': 'a',
        '/memories/secret/b.md': 'b',
        '/memories/team/private/c.md': 'c',
        '/memories/other/private/d.md': 'd',
        '/memories/other/e.md': 'e',
      };
      const rights = {
        '/memories/secret': 'none',
        '/memories/team/private': 'none',
        '/memories/other/private': 'none',
      } as const;
      const views = [
        '/memories',
        '/memories/secret',
        '/memories/secret/b.md',
        '/memories/team',
        '/memories/other',
      ];
      expect(
        await run(
          files,
          rights,
          views.map((path) => cmd.view(path)),
        ),
      ).toStrictEqual([
        [
          "Here're the files and directories up to 2 levels deep in /memories, excluding hidden items and node_modules:",
          '4.0K\t/memories',
          '1B\t/memories/a.md',
          '4.0K\t/memories/other/',
          '1B\t/memories/other/e.md',
        ].join('\n'),
        MISSING('/memories/secret'),
        MISSING('/memories/secret/b.md'),
        MISSING('/memories/team'),
        [
          "Here're the files and directories up to 2 levels deep in /memories/other, excluding hidden items and node_modules:",
          '4.0K\t/memories/other',
          '1B\t/memories/other/e.md',
        ].join('\n'),
      ]);
    });

    it('shows a file below a hidden directory with the directories above it', async () => {
      const files = { '/memories/x/y/z/a.md': 'a', '/memories/x/b.md': 'b', '/memories/c.md': 'c' };
      const rights = { '/memories': 'none', '/memories/x/y/z': 'read_only' } as const;
      const views = ['/memories', '/memories/x', '/memories/x/y/z/a.md', '/memories/x/b.md'];
      expect(
        await run(
          files,
          rights,
          views.map((path) => cmd.view(path)),
        ),
      ).toStrictEqual([
        [
          "Here're the files and directories up to 2 levels deep in /memories, excluding hidden items and node_modules:",
          '4.0K\t/memories',
          '4.0K\t/memories/x/',
          '4.0K\t/memories/x/y/',
        ].join('\n'),
        [
          "Here're the files and directories up to 2 levels deep in /memories/x, excluding hidden items and node_modules:",
          '4.0K\t/memories/x',
          '4.0K\t/memories/x/y/',
          '4.0K\t/memories/x/y/z/',
        ].join('\n'),
        "Here's the content of /memories/x/y/z/a.md with line numbers:\n     1\ta",
        MISSING('/memories/x/b.md'),
      ]);
    });

    it('shows an empty root if every path is hidden', async () => {
      const rights = { '/memories': 'none' } as const;
      const inputs = [cmd.view('/memories'), cmd.create('/memories/a.md', 'x')];
      expect(await run({ '/memories/a.md': 'a' }, rights, inputs)).toStrictEqual([
        "Here're the files and directories up to 2 levels deep in /memories, excluding hidden items and node_modules:\n4.0K\t/memories",
        'Error: This memory is read-only',
      ]);
    });

    it('rejects a write to a read-only path with each command, and names the writable directories', async () => {
      const path = '/memories/shared/a.md';
      const rights = { '/memories/shared': 'read_only', '/memories/shared/me': 'read_write' } as const;
      const inputs = [
        cmd.create('/memories/shared/new.md', 'x'),
        cmd.replace(path, 'a', 'b'),
        cmd.insert(path, 0, 'b'),
        cmd.delete(path),
        cmd.rename(path, '/memories/b.md'),
        cmd.rename('/memories/own.md', '/memories/shared/own.md'),
      ];
      const rejected =
        'Error: /memories/shared is read-only. Write to other directories under /memories or /memories/shared/me instead.';
      expect(await run({ [path]: 'a', '/memories/own.md': 'o' }, rights, inputs)).toStrictEqual(
        inputs.map(() => rejected),
      );
      const allowed = [
        cmd.create('/memories/shared/me/n.md', 'n'),
        cmd.rename('/memories/shared/me/n.md', '/memories/n.md'),
        cmd.view(path),
      ];
      expect(await run({ [path]: 'a' }, rights, allowed)).toStrictEqual([
        'File created successfully at: /memories/shared/me/n.md',
        'Successfully renamed /memories/shared/me/n.md to /memories/n.md',
        `Here's the content of ${path} with line numbers:\n     1\ta`,
      ]);
    });

    it('rejects a write to a hidden path with the same words whether or not a file exists there', async () => {
      const rights = { '/memories/secret': 'none' } as const;
      const paths = ['/memories/secret/is.md', '/memories/secret/not.md', '/memories/secret'];
      const inputs = paths.flatMap((path) => [
        cmd.create(path, 'x'),
        cmd.replace(path, 'a', 'b'),
        cmd.insert(path, 0, 'b'),
        cmd.delete(path),
        cmd.rename(path, '/memories/b.md'),
        cmd.rename('/memories/own.md', path),
      ]);
      const files = { '/memories/secret/is.md': 'a', '/memories/own.md': 'o' };
      const rejected =
        'Error: You cannot write to /memories/secret. Write to other directories under /memories instead.';
      expect(await run(files, rights, inputs)).toStrictEqual(inputs.map(() => rejected));
    });

    it('names only writable directories if the root is not writable', async () => {
      const rights = {
        '/memories': 'read_only',
        '/memories/me': 'read_write',
        '/memories/team/me': 'read_write',
      } as const;
      expect(await run({}, rights, [cmd.create('/memories/x.md', 'x')])).toStrictEqual([
        'Error: /memories is read-only. Write to /memories/me or /memories/team/me instead.',
      ]);
    });

    it('rejects a change to a directory above a path without the right, whether or not the path exists', async () => {
      const rights = { '/memories/p/q': 'none' } as const;
      const inputs = [
        cmd.delete('/memories/p'),
        cmd.rename('/memories/p', '/memories/r'),
        cmd.rename('/memories/o', '/memories/p'),
        cmd.create('/memories/p', 'x'),
        cmd.delete('/memories/p/a.md'),
      ];
      const rejected =
        'Error: Cannot change /memories/p: you cannot write to /memories/p/q. Change the other files in /memories/p one by one instead.';
      const expected = [rejected, rejected, rejected, rejected, 'Successfully deleted /memories/p/a.md'];
      const shown = { '/memories/p/a.md': 'a', '/memories/o/b.md': 'b' };
      expect(await run(shown, rights, inputs)).toStrictEqual(expected);
      expect(await run({ ...shown, '/memories/p/q/s.md': 's' }, rights, inputs)).toStrictEqual(expected);
    });

    it('says that a search path exists exactly if a view shows it', async () => {
      const { tenant, send } = await tenantWithFiles(service(), {
        '/memories/a/b/c.md': 'c',
        '/memories/a/empty/d.md': 'd',
        '/memories/h/b/c.md': 'c',
      });
      await send(cmd.delete('/memories/a/empty/d.md'));
      const { request } = await keyClient(service(), tenant, {
        '/memories/a/b': 'none',
        '/memories/h/b': 'none',
      });
      const contents = [];
      for (const path of ['/memories/a', '/memories/a/empty', '/memories/a/b', '/memories/h'])
        contents.push(
          ((await request('POST', '/search', { query: 'c', path })) as { content: string }).content,
        );
      const [shown, empty, ...hidden] = contents;
      expect(hidden).toStrictEqual([MISSING('/memories/a/b'), MISSING('/memories/h')]);
      expect([shown, empty]).toStrictEqual([
        'There are no files in /memories/a.',
        'There are no files in /memories/a/empty.',
      ]);
    });

    it('lists the rights in the instructions and in the guidance of the context', async () => {
      const { tenant } = await tenantWithFiles(service(), {});
      const rights = {
        '/memories/private': 'none',
        '/memories/shared': 'read_only',
        '/memories/shared/me': 'read_write',
      } as const;
      const lines = [
        '- /memories (you can write)',
        '- /memories/private (you can neither read nor write)',
        '- /memories/shared (read-only)',
        '- /memories/shared/me (you can write)',
      ];
      const block = ['Your access depends on the path. The longest path applies:', ...lines].join('\n');
      const { request } = await keyClient(service(), tenant, rights);
      expect(await request('GET', '/instructions?protocol=false')).toStrictEqual({
        content: block,
        mounts: [],
      });
      const { guidance } = (await request('GET', '/context')) as { guidance: string };
      expect(guidance.endsWith(`\n\n${block}`)).toBe(true);
      const reader = await keyClient(service(), tenant, rights, { access: 'read_only' });
      expect(await reader.request('GET', '/instructions?protocol=false')).toMatchObject({
        content: block.replaceAll('you can write', 'read-only'),
      });
      const unhidden = { '/memories/shared': 'read_only' } as const;
      const plain = await keyClient(service(), tenant, unhidden, { access: 'read_only' });
      expect(await plain.request('GET', '/instructions?protocol=false')).toMatchObject({ content: '' });
    });

    it('gives a read-only key no more than its own access', async () => {
      const { tenant } = await tenantWithFiles(service(), {});
      const rights = { '/memories/a': 'read_write' } as const;
      const { send } = await keyClient(service(), tenant, rights, { access: 'read_only' });
      expect((await send(cmd.create('/memories/a/b', 'x'))).content).toBe('Error: This memory is read-only');
    });

    it('does not tell how many files a full memory has if some are hidden', async () => {
      const { tenant } = await tenantWithFiles(service(), { '/memories/secret/a.md': 'a' });
      await service().query('UPDATE tenants SET max_files = 1 WHERE id = $1', [tenant]);
      const { send } = await keyClient(service(), tenant, { '/memories/secret': 'none' });
      expect((await send(cmd.create('/memories/b.md', 'x'))).content).toBe(
        'Error: This memory is full: 1 files are allowed. Delete files to make room.',
      );
    });

    it('does not name a hidden file above the path of a write', async () => {
      const rights = { '/memories/a': 'none', '/memories/a/b': 'read_write' } as const;
      const inputs = [
        cmd.create('/memories/a/b/c', 'x'),
        cmd.rename('/memories/o', '/memories/a/b/d'),
        cmd.view('/memories/a'),
      ];
      expect(await run({ '/memories/a': 'a', '/memories/o': 'o' }, rights, inputs)).toStrictEqual([
        'Error: /memories/a/b/c is not a directory',
        'Error: /memories/a/b/d is not a directory',
        MISSING('/memories/a'),
      ]);
    });

    it('applies rights within mounts, hides mounts, and names a mount as seen', async () => {
      const team = await tenantWithFiles(service(), {
        '/memories/a.md': 'a',
        '/memories/keep/b.md': 'b',
        '/memories/secret/c.md': 'c',
      });
      const tenant = freshTenant('rights');
      await new Tenants(service().database).create(tenant);
      const mount = { tenant: team.tenant, access: 'read_write', instructions: '' } as const;
      for (const name of ['gone', 'team']) await setMount(service().database, tenant, { ...mount, name });
      await (await keyClient(service(), tenant)).send(cmd.create('/memories/own.md', 'o'));
      const { send, request } = await keyClient(service(), tenant, {
        '/memories/gone': 'none',
        '/memories/team/keep': 'read_only',
        '/memories/team/secret': 'none',
      });
      const inputs = [
        cmd.view('/memories'),
        cmd.view('/memories/gone/a.md'),
        cmd.view('/memories/team/secret/c.md'),
        cmd.view('/memories/team'),
        cmd.create('/memories/team/keep/n.md', 'x'),
        cmd.create('/memories/team/secret/c.md', 'x'),
        cmd.create('/memories/gone/a.md', 'x'),
        cmd.create('/memories/team/n.md', 'x'),
      ];
      const contents = [];
      for (const input of inputs) contents.push((await send(input)).content);
      const instead = 'Write to other directories under /memories instead.';
      expect(contents).toStrictEqual([
        [
          "Here're the files and directories up to 2 levels deep in /memories, excluding hidden items and node_modules:",
          '4.0K\t/memories',
          '1B\t/memories/own.md',
          '4.0K\t/memories/team/',
          '1B\t/memories/team/a.md',
          '4.0K\t/memories/team/keep/',
        ].join('\n'),
        MISSING('/memories/gone/a.md'),
        MISSING('/memories/team/secret/c.md'),
        [
          "Here're the files and directories up to 2 levels deep in /memories/team, excluding hidden items and node_modules:",
          '4.0K\t/memories/team',
          '1B\t/memories/team/a.md',
          '4.0K\t/memories/team/keep/',
          '1B\t/memories/team/keep/b.md',
        ].join('\n'),
        `Error: /memories/team/keep is read-only. ${instead}`,
        `Error: You cannot write to /memories/team/secret. ${instead}`,
        `Error: You cannot write to /memories/gone. ${instead}`,
        'File created successfully at: /memories/team/n.md',
      ]);
      expect(await request('GET', '/whoami')).toMatchObject({
        rights: {
          access: 'read_write',
          paths: [
            { path: '/memories/gone', access: 'none' },
            { path: '/memories/team/keep', access: 'read_only' },
            { path: '/memories/team/secret', access: 'none' },
          ],
        },
        mounts: [{ path: '/memories/team', access: 'read_write' }],
      });
      expect(await request('GET', '/instructions')).toMatchObject({
        mounts: [{ path: '/memories/team', access: 'read_write' }],
      });
    });
  },
  { AUTH: 'keys' },
);
