/** Archives in the form in which desktop programs write them. */
import { expect, it } from 'vitest';
import { useAdmin } from '../support/admin.ts';
import { entry } from '../support/create-archive.ts';
import { describeService, freshTenant } from '../support/test-service.ts';

describeService('archives from desktops', (service) => {
  const admin = useAdmin(service);
  const load = async (...entries: Buffer[]) => {
    const tenant = freshTenant('desktop');
    await admin().call('POST', '/tenants', { body: { id: tenant } });
    const body = Buffer.concat([...entries, Buffer.alloc(1024)]);
    return admin().call('POST', `/tenants/${tenant}/import?dry_run=true`, {
      body,
      type: 'application/x-tar',
    });
  };

  it('leaves out macOS binary files and names them, but imports text files with similar names', async () => {
    const { status, body } = await load(
      entry({ name: 'memories/._a.md', content: '\0\x05\x16\x07\0\x02' }),
      entry({ name: 'memories/a.md', content: 'one' }),
      entry({ name: 'memories/.DS_Store', content: '\0\0\0\x01Bud1' }),
      entry({ name: 'memories/._text', content: 'two' }),
    );
    expect([status, body.left_out, body.file_paths]).toStrictEqual([
      200,
      ['memories/._a.md', 'memories/.DS_Store'],
      ['/memories/a.md', '/memories/._text'],
    ]);
  });

  it('imports the file after an extended header that has no content', async () => {
    const { status, body } = await load(
      entry({ name: 'PaxHeader', type: 'x' }),
      entry({ name: 'memories/a.md', content: 'one' }),
      entry({ name: 'memories/b.md', content: 'two' }),
    );
    expect([status, body.file_paths]).toStrictEqual([200, ['/memories/a.md', '/memories/b.md']]);
  });
});
