/**
 * The command `sync`: a directory and a memory with the same files.
 *
 * @module-tag long-on-pglite
 */
import { mkdir, mkdtemp, readFile, rename, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { loadConfig } from '../../src/core/config.ts';
import { localCaller } from '../../src/service/local-caller.ts';
import { useAdmin } from '../support/admin.ts';
import { CollectedOutput } from '../support/collected-output.ts';
import { assertInvariants } from '../support/invariants.ts';
import { runOn } from '../support/run-program.ts';
import { cmd } from '../support/step-table.ts';
import { Agent, Device } from '../support/sync-device.ts';
import { describeServiceOnOwnDatabase, freshTenant } from '../support/test-service.ts';

describeServiceOnOwnDatabase('sync', (service) => {
  const admin = useAdmin(service);
  let url: string;
  let root: string;
  beforeAll(async () => {
    url = await admin().app.listen({ port: 0, host: '127.0.0.1' });
    root = await mkdtemp(join(tmpdir(), 'sync-'));
  });
  afterAll(async () => {
    await rm(root, { recursive: true, force: true });
    await assertInvariants(service());
  });

  /** A device that runs the command over the admin API. */
  class CommandDevice extends Device {
    readonly tenant: string;
    constructor(tenant: string, name = 'laptop') {
      super(join(root, tenant, name), name);
      this.tenant = tenant;
    }
    read(name: string) {
      return readFile(join(this.directory, name), 'utf8');
    }
    run(...args: string[]) {
      return runOn(service(), ['sync', this.tenant, this.directory, '--device', this.name, ...args], {
        admin: { url, key: admin().key.key },
      });
    }
  }

  async function newTenant(): Promise<string> {
    const tenant = freshTenant('sync');
    await runOn(service(), ['tenants', 'create', tenant]);
    return tenant;
  }
  const execute = async (tenant: string, input: object) => {
    expect((await service().execute(input, { tenant })).body).toMatchObject({ is_error: false });
  };
  const memory = (tenant: string) => new Agent(service(), tenant).files();

  function openCaller() {
    const database = { ...service().database, close: async () => {} };
    const io = { stdin: Readable.from([]), stdout: new CollectedOutput(), stderr: new CollectedOutput() };
    return localCaller(async () => ({ config: loadConfig({ AUTH: 'none' }), database }), io)();
  }

  it('copies the files of both sides to the other side, byte for byte', async () => {
    const device = new CommandDevice(await newTenant());
    await execute(device.tenant, cmd.create('/memories/people/ada.md', '\uFEFFLives in Lyon.\r\n'));
    await device.put('notes.md', 'no line break: ÿ🦊');
    await device.put('empty.md', '');
    expect(await device.run()).toStrictEqual({
      code: 0,
      stdout: 'memory: create empty.md\nmemory: create notes.md\nlocal: create people/ada.md\n',
      stderr: 'Changed: 2 in the memory, 1 in the directory.\n',
    });
    const files = {
      'empty.md': '',
      'notes.md': 'no line break: ÿ🦊',
      'people/ada.md': '\uFEFFLives in Lyon.\r\n',
    };
    expect(await device.files()).toStrictEqual(files);
    expect(await memory(device.tenant)).toStrictEqual(files);
    expect(await device.run()).toMatchObject({ stdout: '' });
  });

  it('merges changes to different lines, and keeps both versions of the same line', async () => {
    const tenant = await newTenant();
    const [laptop, phone] = [new CommandDevice(tenant), new CommandDevice(tenant, 'phone')];
    const lines = ['a', 'b', 'c', 'd', 'e', ''];
    await laptop.put('notes.md', lines.join('\n'));
    await laptop.run();
    await phone.run();
    await laptop.put('notes.md', lines.join('\n').replace('a', 'A'));
    await phone.put('notes.md', lines.join('\n').replace('e', 'E'));
    await laptop.run();
    expect((await phone.run()).stdout).toBe('memory: merge notes.md\nlocal: merge notes.md\n');
    expect((await laptop.run()).stdout).toBe('local: update notes.md\n');
    expect(await laptop.read('notes.md')).toBe('A\nb\nc\nd\nE\n');

    await laptop.put('notes.md', 'laptop\n');
    await phone.put('notes.md', 'phone\n');
    await laptop.run();
    const { stdout } = await phone.run();
    const [, copy = ''] =
      /to (notes \(conflict phone \d{4}-\d\d-\d\d \d\d\.\d\d\.\d\d\)\.md)\n/.exec(stdout) ?? [];
    expect(stdout).toBe(
      `conflict: copy notes.md to ${copy}\nmemory: create ${copy}\nlocal: update notes.md\n`,
    );
    await laptop.run();
    const files = { 'notes.md': 'laptop\n', [copy]: 'phone\n' };
    expect(await phone.files()).toStrictEqual(files);
    expect(await laptop.files()).toStrictEqual(files);
    expect(await memory(tenant)).toStrictEqual(files);
  });

  it('renames a renamed file on the other side, and keeps its history', async () => {
    const device = new CommandDevice(await newTenant());
    await device.put('a.md', 'one\n');
    await device.put('b.md', 'two\n');
    await device.run();
    await rename(join(device.directory, 'a.md'), join(device.directory, 'c.md'));
    await execute(device.tenant, cmd.rename('/memories/b.md', '/memories/people/b.md'));
    expect((await device.run()).stdout).toBe(
      'memory: rename a.md to c.md\nlocal: rename b.md to people/b.md\n',
    );
    expect(await device.files()).toStrictEqual({ 'c.md': 'one\n', 'people/b.md': 'two\n' });
    const { stdout } = await runOn(service(), ['log', device.tenant, '/memories/c.md', '--json']);
    const operations = stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line).operation);
    expect(operations).toStrictEqual(['renamed', 'created']);
  });

  it('deletes a deleted file on the other side, but not a file that was changed there', async () => {
    const device = new CommandDevice(await newTenant());
    for (const name of ['a', 'b', 'c', 'd', 'e']) await device.put(`${name}.md`, `${name}\n`);
    await device.run();
    for (const name of ['a', 'b']) await rm(join(device.directory, `${name}.md`));
    for (const name of ['c', 'd']) await execute(device.tenant, cmd.delete(`/memories/${name}.md`));
    await execute(device.tenant, cmd.replace('/memories/b.md', 'b', 'B'));
    await device.put('d.md', 'D\n');
    await device.run();
    const files = { 'b.md': 'B\n', 'd.md': 'D\n', 'e.md': 'e\n' };
    expect(await device.files()).toStrictEqual(files);
    expect(await memory(device.tenant)).toStrictEqual(files);
  });

  it('rejects a directory or a memory that has lost all its files', async () => {
    const device = new CommandDevice(await newTenant());
    await device.put('a.md', 'a\n');
    await device.run();
    await rm(join(device.directory, 'a.md'));
    expect(await device.run()).toMatchObject({
      code: 1,
      stderr: `memory-service: The directory ${device.directory} had 1 file after the last synchronization and has none now. To delete the files on the other side too, add --allow-empty.\n`,
    });
    expect(await memory(device.tenant)).toStrictEqual({ 'a.md': 'a\n' });
    await device.put('a.md', 'a\n');
    await execute(device.tenant, cmd.delete('/memories/a.md'));
    expect(await device.run()).toMatchObject({
      code: 1,
      stderr:
        'memory-service: The memory had 1 file after the last synchronization and has none now. To delete the files on the other side too, add --allow-empty.\n',
    });
    expect(await device.run('--allow-empty')).toMatchObject({ code: 0, stdout: 'local: delete a.md\n' });
  });

  it('lists the changes in a dry run without making them', async () => {
    const device = new CommandDevice(await newTenant());
    await device.put('a.md', 'a\n');
    await execute(device.tenant, cmd.create('/memories/b.md', 'b\n'));
    expect(await device.run('--dry-run')).toStrictEqual({
      code: 0,
      stdout: 'local: create b.md\nmemory: create a.md\n',
      stderr: 'To change: 1 in the memory, 1 in the directory.\n',
    });
    expect(await device.files()).toStrictEqual({ 'a.md': 'a\n' });
    expect(await memory(device.tenant)).toStrictEqual({ 'b.md': 'b\n' });
    expect((await device.run('--dry-run', '--json')).stdout).toBe(
      '{"side":"local","action":"create","path":"/memories/b.md"}\n{"side":"memory","action":"create","path":"/memories/a.md"}\n',
    );
  });

  it('ignores hidden files and the files that .memoryignore names, on both sides', async () => {
    const device = new CommandDevice(await newTenant());
    await device.put('.memoryignore', 'private/\n*.tmp\n!.notes\n!.git\n');
    await device.put('private/a.md', 'a\n');
    await device.put('b.tmp', 'b\n');
    await device.put('.obsidian/app.json', '{}\n');
    await device.put('.git/config', 'x\n');
    await device.put('.notes/c.md', 'c\n');
    await execute(device.tenant, cmd.create('/memories/.git/hooks/pre-commit', 'rm -rf /\n'));
    await execute(device.tenant, cmd.create('/memories/private/d.md', 'd\n'));
    expect((await device.run()).stdout).toBe('memory: create .notes/c.md\n');
    // A file that is ignored later remains on both sides.
    await device.put('.memoryignore', '');
    expect((await device.run('--dry-run')).stdout).toBe(
      'local: create private/d.md\nmemory: create b.tmp\nmemory: create private/a.md\n',
    );
  });

  it('skips symbolic links, binary files, and invalid names, and keeps their files in the memory', async () => {
    const device = new CommandDevice(await newTenant());
    await device.put('image.png', 'text for now\n');
    await device.put('linked/a.md', 'a\n');
    await device.run();
    await device.put('image.png', Buffer.from([0xff, 0xd8, 0x00]));
    await rename(join(device.directory, 'linked'), join(device.directory, '.moved'));
    await symlink('/etc', join(device.directory, 'linked'));
    await device.put('back\\slash.md', 'x\n');
    await device.put('other.md', 'x\n');
    expect(await device.run()).toStrictEqual({
      code: 0,
      stdout: 'memory: create other.md\n',
      stderr:
        'image.png: skipped, because it is not UTF-8 text.\nlinked: skipped, because it is a symbolic link.\nback\\slash.md: skipped, because its name is not valid in a memory.\nChanged: 1 in the memory, 0 in the directory.\n',
    });
    await execute(device.tenant, cmd.replace('/memories/linked/a.md', 'a', 'b'));
    await device.run();
    expect(await memory(device.tenant)).toStrictEqual({
      'image.png': 'text for now\n',
      'linked/a.md': 'b\n',
      'other.md': 'x\n',
    });
  });

  it('keeps both files if a file is in the place of a directory', async () => {
    const device = new CommandDevice(await newTenant());
    await device.put('a', 'file\n');
    await execute(device.tenant, cmd.create('/memories/a/b.md', 'below\n'));
    const { stdout } = await device.run();
    expect(stdout).toMatch(
      /^conflict: copy a to a \(conflict laptop [\d. -]+\)\nmemory: create a \(conflict laptop [\d. -]+\)\nlocal: create a\/b\.md\n$/,
    );
    expect(Object.values(await memory(device.tenant)).sort()).toStrictEqual(['below\n', 'file\n']);
    expect(await device.files()).toStrictEqual(await memory(device.tenant));
  });

  it('replaces an empty directory by a file, but not in the memory', async () => {
    const device = new CommandDevice(await newTenant());
    await mkdir(join(device.directory, 'a/b'), { recursive: true });
    await mkdir(join(device.directory, 'c'));
    await execute(device.tenant, cmd.create('/memories/c', 'file\n'));
    await execute(device.tenant, cmd.create('/memories/d/e', 'file\n'));
    await execute(device.tenant, cmd.delete('/memories/d/e'));
    await device.put('d', 'file\n');
    expect(await device.run()).toStrictEqual({
      code: 1,
      stdout: 'local: create c\n',
      stderr:
        'd: unfinished, because it is changing, or its path is occupied.\nChanged: 0 in the memory, 1 in the directory.\nmemory-service: 1 file could not be synchronized.\n',
    });
    expect(await device.files()).toStrictEqual({ c: 'file\n', d: 'file\n' });
  });

  it('keeps a file that was moved to a deleted path, if the memory changes the path meanwhile', async () => {
    const device = new CommandDevice(await newTenant());
    const agent = new Agent(service(), device.tenant);
    for (const name of ['deleted', 'moved', 'other']) await device.put(name, `${name}\n`);
    await device.run();
    await device.delete('deleted');
    await device.rename('moved', 'deleted');
    await agent.rename('deleted', 'renamed');
    await agent.rename('other', 'deleted');
    const caller = await openCaller();
    let isChanged = false;
    await device.sync(caller, device.tenant, async (call) => {
      // The memory has deleted the only other file with the content.
      if (!isChanged && (await agent.files()).moved === undefined) {
        isChanged = true;
        await agent.put('renamed', 'changed\n');
      }
      return call();
    });
    await caller.close();
    expect(isChanged).toBe(true);
    expect(Object.values(await device.files()).sort()).toStrictEqual(['changed\n', 'moved\n', 'other\n']);
    expect(await memory(device.tenant)).toStrictEqual(await device.files());
  });

  it('keeps a moved file if the sync is killed after replacing it at its new path', async () => {
    const device = new CommandDevice(await newTenant());
    const agent = new Agent(service(), device.tenant);
    await device.put('moved', 'mine\n');
    await device.run();
    await device.rename('moved', 'taken');
    await agent.put('taken', 'theirs\n');
    const caller = await openCaller();
    const sync = device.sync(caller, device.tenant, async (call) => {
      if ((await device.files()).taken === 'theirs\n') throw new Error('killed');
      return call();
    });
    await expect(sync).rejects.toThrow('killed');
    await caller.close();
    await device.run();
    expect(await device.files()).toStrictEqual({ moved: 'mine\n', taken: 'theirs\n' });
    expect(await memory(device.tenant)).toStrictEqual(await device.files());
  });

  it('leaves out names that differ only in case on a case-insensitive file system', async () => {
    const device = new CommandDevice(await newTenant());
    for (const name of ['a', 'A', 'b']) await execute(device.tenant, cmd.create(`/memories/${name}`, name));
    const caller = await openCaller();
    const sync = () => device.sync(caller, device.tenant, undefined, { isCaseInsensitive: true });
    expect((await sync()).notes).toStrictEqual(
      new Map([['/memories/a', 'skipped, because another file has the same name in another case']]),
    );
    await execute(device.tenant, cmd.rename('/memories/b', '/memories/B'));
    expect((await sync()).changes).toMatchObject([{ action: 'rename', to: '/memories/B' }]);
    await caller.close();
    expect(await device.files()).toStrictEqual({ A: 'A', B: 'b' });
    expect(await memory(device.tenant)).toStrictEqual({ a: 'a', A: 'A', B: 'b' });
  });

  it('keeps a local secret that the memory masks', async () => {
    const tenant = await newTenant();
    await runOn(service(), ['tenants', 'set', tenant, '--secrets', 'mask']);
    const device = new CommandDevice(tenant);
    const token = `ghp_${'16C7e42F292c6912E7710c838347Ae178B4a'}`;
    await device.put('a.md', `one\ntoken ${token}\nthree\nfour\n`);
    expect(await device.run()).toMatchObject({
      code: 0,
      stderr: 'a.md: the memory masks its secrets.\nChanged: 1 in the memory, 0 in the directory.\n',
    });
    await device.run();
    expect((await device.run()).stdout).toBe('');
    await execute(tenant, cmd.replace('/memories/a.md', 'four', 'FOUR'));
    await device.run();
    expect(await device.read('a.md')).toBe(`one\ntoken ${token}\nthree\nFOUR\n`);
    expect((await memory(tenant))['a.md']).not.toContain(token);
  });

  it('rejects a directory of another tenant or of an earlier tenant', async () => {
    const device = new CommandDevice(await newTenant());
    await device.put('a.md', 'a\n');
    await device.run();
    const other = await newTenant();
    const args = ['sync', other, device.directory];
    expect((await runOn(service(), args)).stderr).toContain(
      `${device.directory} is synchronized with the tenant ${device.tenant}. To start over, delete ${device.directory}/.memory-service`,
    );
    await runOn(service(), ['tenants', 'delete', device.tenant, '--yes']);
    await runOn(service(), ['tenants', 'create', device.tenant]);
    expect((await device.run()).stderr).toContain(
      `${device.directory} is synchronized with an earlier tenant ${device.tenant}.`,
    );
  });

  it('lists IDs and hashes of files in pages', async () => {
    const tenant = await newTenant();
    for (const name of ['a', 'b/c', 'd']) await execute(tenant, cmd.create(`/memories/${name}`, name));
    const list = (query: string) => admin().call('GET', `/tenants/${tenant}/hashes${query}`);
    const { body: first } = await list('?limit=2');
    expect(first).toMatchObject({
      files: [
        {
          path: '/memories/a',
          size_bytes: 1,
          content_sha256: 'ca978112ca1bbdcafac231b39a23dc4da786eff8147c4e72b9807785afee48bb',
        },
        { path: '/memories/b/c' },
      ],
      next: expect.any(String),
      last_change_at: expect.any(String),
    });
    const { body: second } = await list(`?after=${first.next}`);
    expect(second).toMatchObject({ files: [{ path: '/memories/d' }], next: null });
    expect(second.last_change_at).toBe(first.last_change_at);
    expect((await list('?after=x')).status).toBe(400);
    expect((await admin().call('GET', '/tenants/no-such-tenant/hashes')).status).toBe(404);
  });

  it('reports a file that the memory rejects, and synchronizes the others', async () => {
    const device = new CommandDevice(await newTenant());
    await runOn(service(), ['tenants', 'set', device.tenant, '--max-file-bytes', '10']);
    await device.put('large.md', 'more than ten bytes\n');
    await device.put('small.md', 'small\n');
    const { code, stdout, stderr } = await device.run();
    expect([code, stdout]).toStrictEqual([1, 'memory: create small.md\n']);
    expect(stderr).toContain('large.md: rejected. ');
    expect(stderr).toContain('memory-service: 1 file could not be synchronized.\n');
    expect(await device.read('large.md')).toBe('more than ten bytes\n');
  });
});
