/** Rights by path in `GET /context`: hidden changes show in no text, version, or status. */
import { expect, it } from 'vitest';
import { keyClient, tenantWithFiles } from '../support/rights-client.ts';
import { cmd } from '../support/step-table.ts';
import { describeService } from '../support/test-service.ts';

interface Context {
  snapshot: string | null;
  changes: string | null;
  version: string;
}

describeService(
  'the context of a key with hidden paths',
  (service) => {
    const open = async (files: Record<string, string>) => {
      const all = await tenantWithFiles(service(), files);
      const { key, request } = await keyClient(service(), all.tenant, { '/memories/secret': 'none' });
      const read = async (query = '') => (await request('GET', `/context?${query}`)) as Context;
      const status = async (version: string) => {
        const headers = { authorization: `Bearer ${key}`, 'if-none-match': `W/"${version}"` };
        return (await service().app.inject({ url: '/context', headers })).statusCode;
      };
      return { all, read, status };
    };

    it('keeps its version after changes to hidden files', async () => {
      const { all, read, status } = await open({ '/memories/a.md': 'a', '/memories/secret/b.md': 'b' });
      const before = await read();
      await all.send(cmd.replace('/memories/secret/b.md', 'b', 'c'));
      await all.send(cmd.rename('/memories/secret/b.md', '/memories/secret/c.md'));
      await all.send(cmd.delete('/memories/secret'));
      expect(await read()).toStrictEqual(before);
      expect(await status(before.version)).toBe(304);
      expect(await read(`since=${before.version}`)).toMatchObject({ changes: '', version: before.version });
    });

    it('keeps the same version when only hidden files are added', async () => {
      const { all, read } = await open({});
      const { version } = await read();
      await all.send(cmd.create('/memories/secret/b.md', 'b'));
      expect(await read()).toMatchObject({ version });
    });

    it('reports the other changes, and moves to and from hidden paths', async () => {
      const files = { '/memories/a.md': `# A\n${'a'.repeat(900)}`, '/memories/secret/b.md': '# B' };
      const { all, read } = await open({ ...files, '/memories/c.md': '# C', '/memories/d.md': '# D' });
      const { version } = await read();
      await all.send(cmd.rename('/memories/c.md', '/memories/secret/c.md'));
      await all.send(cmd.rename('/memories/secret/b.md', '/memories/b.md'));
      const day = new Date().toISOString().slice(0, 10);
      const first = await read(`since=${version}`);
      expect(first.changes).toBe(
        [
          '<memory_changes>',
          'These files are new or changed:',
          `3B\t/memories/b.md\t${day}\tB`,
          '',
          'These files were deleted or renamed:',
          '/memories/c.md',
          '</memory_changes>',
        ].join('\n'),
      );
      await all.send(cmd.delete('/memories/d.md'));
      const second = await read(`since=${first.version}`);
      expect(second.changes).toBe(
        '<memory_changes>\nThese files were deleted or renamed:\n/memories/d.md\n</memory_changes>',
      );
      expect(await read(`since=${second.version}`)).toMatchObject({ changes: '' });
    });
  },
  { AUTH: 'keys' },
);
