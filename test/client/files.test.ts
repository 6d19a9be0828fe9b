/** The adapters for filesystems, with a real service. `test/sdks` runs them in their frameworks. */
import { MemoryServiceError } from 'memory-service-client';
import { MemoryBackend } from 'memory-service-client/deepagents';
import { MemoryFileSystem } from 'memory-service-client/just-bash';
import { expect, it } from 'vitest';
import { MemoryFileError } from '../../clients/typescript/src/files.ts';
import { freshTenant } from '../support/test-service.ts';
import { useAgentFixture } from './agent-fixture.ts';

const fixture = useAgentFixture();

/** A stand-in for the just-bash exports. */
const DefenseInDepthBox = { runTrustedAsync: <Result>(work: () => Promise<Result>) => work() };
/** A stand-in for the Deep Agents exports, whose methods are not called here. */
class StoreBackend {}

it('writes, lists, reads, and deletes files in a new tenant through client.files()', async () => {
  const client = fixture.client();
  const files = client.files();
  expect(await files.list('/')).toStrictEqual([]);
  await files.write('/notes.md', 'Likes tea.\n');
  await files.write('/a/b/.hidden', 'x');
  expect((await files.list('/')).map(({ kind, path }) => [kind, path])).toStrictEqual([
    ['directory', '/a'],
    ['file', '/notes.md'],
  ]);
  expect((await files.readAll('/a')).map(({ path, content }) => [path, content])).toStrictEqual([
    ['/a/b/.hidden', 'x'],
  ]);
  await files.write('/notes.md', 'Likes coffee.\n');
  expect((await client.execute({ command: 'view', path: '/memories/notes.md' })).content).toBe(
    "Here's the content of /memories/notes.md with line numbers:\n     1\tLikes coffee.\n     2\t",
  );
  const found = await files.find('/notes.md');
  if (found?.kind !== 'file') throw new Error('There is no file.');
  await files.delete(found);
  await files.delete(found);
  expect(await files.read('/notes.md')).toBeUndefined();
});

it('reads a moved file at the new path, and does not replace a file that has changed since', async () => {
  const client = fixture.client();
  const files = client.files();
  await files.write('/a.md', 'one');
  const before = await files.read('/a.md');
  if (before === undefined) throw new Error('There is no file.');
  await client.execute({ command: 'rename', old_path: '/memories/a.md', new_path: '/memories/b.md' });
  expect(await files.read('/a.md')).toBeUndefined();
  expect((await files.read('/b.md'))?.content).toBe('one');
  await client.execute({ command: 'insert', path: '/memories/b.md', insert_line: 1, insert_text: 'two' });
  expect(await files.replace(before, 'three')).toBe(false);
  expect((await files.read('/b.md'))?.content).toBe('one\ntwo');
});

it('retries a write after a lost response, and creates one version', async () => {
  let requests = 0;
  const tenant = freshTenant();
  const losing = fixture.client({
    tenant,
    fetch: async (input, init) => {
      const response = await fetch(input, init);
      requests++;
      if (init?.method === 'POST' && requests % 2 === 1) throw new TypeError('lost');
      return response;
    },
  });
  const files = losing.files();
  await files.write('/a.md', 'one');
  await files.write('/a.md', 'two');
  const versions = await fetch(`${fixture.url}/v1/memory_stores/${tenant}/memory_versions`, {
    headers: { Authorization: `Bearer ${fixture.serviceKey}` },
  });
  const { data } = (await versions.json()) as { data: { operation: string }[] };
  expect(data.map(({ operation }) => operation)).toStrictEqual(['modified', 'created']);
});

it('throws a MemoryFileError if a write is rejected, and a MemoryServiceError if the key is wrong', async () => {
  const reader = fixture.client({ apiKey: await fixture.tenantKey('read_only'), tenant: undefined });
  await expect(reader.files().write('/a.md', 'x')).rejects.toStrictEqual(
    new MemoryFileError({ type: 'permission_error', message: 'The credential is read-only.' }),
  );
  await expect(fixture.client().files().write('/../a.md', 'x')).rejects.toThrow(
    'Path /memories/../a.md would escape /memories directory',
  );
  const stranger = fixture.client({ apiKey: 'msk_wrong' });
  await expect(stranger.files().list('/')).rejects.toThrow(
    'The memory service responded with 401 authentication_error: `apiKey` is not a valid key or token of this service.',
  );
  const backend = new MemoryBackend(stranger, { StoreBackend });
  expect(await backend.write('/a.md', 'x')).toStrictEqual({
    error: expect.stringMatching(/^Error: The memory service responded with 401 authentication_error: /),
  });
  expect(await new MemoryBackend(reader, { StoreBackend }).write('/a.md', 'x')).toStrictEqual({
    error: 'Error: The credential is read-only.',
  });
  await expect(backend.downloadFiles(['/a.md'])).rejects.toBeInstanceOf(MemoryServiceError);
});

it('reports errors with the codes that a filesystem uses, such as ENOENT and EISDIR', async () => {
  const fs = new MemoryFileSystem(fixture.client(), { DefenseInDepthBox });
  await fs.mkdir('/empty');
  await fs.writeFile('/a.md', 'é');
  await fs.appendFile('/a.md', '\xc3\xa9', 'binary');
  expect(await fs.readFile('/a.md')).toBe('éé');
  expect([await fs.readFile('/a.md', 'hex'), await fs.readFile('/a.md', 'base64')]).toStrictEqual([
    'c3a9c3a9',
    'w6nDqQ==',
  ]);
  expect(await fs.readdir('/')).toStrictEqual(['a.md', 'empty']);
  expect(await fs.stat('/a.md')).toMatchObject({
    isFile: true,
    size: 4,
    identity: expect.stringMatching(/^mem_/),
  });
  const failures = [
    fs.readFile('/missing'),
    fs.readFile('/empty'),
    fs.writeFile('/empty', 'x'),
    fs.writeFile('/a.md/b', 'x'),
    fs.writeFile('/b', new Uint8Array([255])),
    fs.readdir('/a.md'),
    fs.mkdir('/missing/b'),
    fs.rm('/missing'),
    fs.mv('/empty', '/empty/below'),
    fs.symlink('/a.md', '/link'),
  ];
  const reasons = await Promise.all(failures.map((each) => each.then(String, ({ message }) => message)));
  expect(reasons).toStrictEqual([
    "ENOENT: no such file or directory, open '/missing'",
    "EISDIR: illegal operation on a directory, read '/empty'",
    "EISDIR: illegal operation on a directory, open '/empty'",
    "ENOTDIR: The path conflicts with another memory, at, above or below it. Rename or delete that memory first., open '/a.md/b'",
    "EILSEQ: a memory holds only text in UTF-8, write '/b'",
    "ENOTDIR: not a directory, scandir '/a.md'",
    "ENOENT: no such file or directory, mkdir '/missing/b'",
    "ENOENT: no such file or directory, rm '/missing'",
    "EINVAL: cannot move '/empty' into itself, mv '/empty/below'",
    "EPERM: a memory has no links, symlink '/link'",
  ]);
});
