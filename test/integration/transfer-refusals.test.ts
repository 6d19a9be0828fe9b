/** What `import` refuses: each time with a message to act on, and without leaving anything behind. */
import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { promisify } from 'node:util';
import { gzipSync } from 'node:zlib';
import { afterAll, expect, inject, it } from 'vitest';
import { Tenants } from '../../src/db/tenants.ts';
import { archiveOf, END, entry, pax, tenGigabytes } from '../support/archives.ts';
import { runCli } from '../support/cli.ts';
import { assertInvariants, readTree } from '../support/invariants.ts';
import { describeService, freshTenant } from '../support/service.ts';
import { cmd } from '../support/table.ts';

const good = entry({ name: 'memories/good', content: 'good' });
const after = (...entries: Buffer[]) => Buffer.concat([good, ...entries, END]);
const file = (name: string | Buffer, content: string | Buffer = 'x') => entry({ name, content });
const latin1 = Buffer.from('memories/caf\xE9', 'latin1');

const ARCHIVES: [title: string, archive: Buffer, message: string][] = [
  [
    'a parent',
    after(file('memories/../x')),
    'Cannot import memories/../x: Path memories/../x would escape /memories directory',
  ],
  [
    'a parent at the start',
    after(file('../memories/x')),
    'Cannot import ../memories/x: Path ../memories/x would escape /memories directory',
  ],
  [
    'a parent in disguise',
    after(file('memories/%2e%2e/x')),
    'Cannot import memories/%2e%2e/x: Path /memories/%2e%2e/x would escape /memories directory',
  ],
  [
    'an absolute path',
    after(file('/etc/passwd')),
    'Cannot import /etc/passwd: Path must start with /memories, got: /etc/passwd',
  ],
  [
    'no folder memories',
    after(file('etc/passwd')),
    'Cannot import etc/passwd: it is not below memories/. Say where the entries go with --into, for example --into /memories.',
  ],
  [
    'a control character',
    after(file('memories/\u001b[2J')),
    'Cannot import memories/\\u001B[2J: Path "/memories/\\u001b[2J" contains a character that is not allowed: U+001B',
  ],
  [
    'a path that is too long',
    after(pax({ path: `memories/${'n'.repeat(256)}` }), file('x')),
    `Cannot import memories/${'n'.repeat(256)}: Path is too long: a segment of 256 bytes (limit 255)`,
  ],
  [
    'a path of a megabyte',
    after(pax({ path: `memories/${'n/'.repeat(300_000)}` }), file('x')),
    `Cannot import memories/${'n/'.repeat(145)}n…: Path is too long: 600009 bytes (limit 1024)`,
  ],
  [
    'a symbolic link',
    after(entry({ name: 'memories/link', type: '2', link: '/etc/passwd' })),
    'Cannot import memories/link: it is a symbolic link, and a memory holds files and directories only. Leave it out, or pack what it points to: tar --dereference.',
  ],
  [
    'a hard link',
    after(entry({ name: 'memories/link', type: '1', link: 'memories/good' })),
    'Cannot import memories/link: it is a hard link, and a memory holds files and directories only. Pack the file again instead: tar --hard-dereference.',
  ],
  [
    'a character device',
    after(entry({ name: 'memories/null', type: '3' })),
    'Cannot import memories/null: it is a device, and a memory holds files and directories only. Leave it out.',
  ],
  [
    'a block device',
    after(entry({ name: 'memories/sda', type: '4' })),
    'Cannot import memories/sda: it is a device, and a memory holds files and directories only. Leave it out.',
  ],
  [
    'a named pipe',
    after(entry({ name: 'memories/pipe', type: '6' })),
    'Cannot import memories/pipe: it is a named pipe, and a memory holds files and directories only. Leave it out.',
  ],
  [
    'a type of its own',
    after(entry({ name: 'memories/new', type: 'S' })),
    'Cannot import memories/new: it is of a type that is not known here, and a memory holds files and directories only. Leave it out.',
  ],
  [
    'a sparse file',
    after(pax({ 'GNU.sparse.major': '1', 'GNU.sparse.realsize': '10737418240' }), file('memories/zeros')),
    'Cannot import memories/zeros: it is stored as a sparse file. Make the archive without --sparse.',
  ],
  [
    'a name not in UTF-8',
    after(file(latin1)),
    'Cannot import memories/caf\\xE9: its name is not UTF-8. Rename it, for example with: convmv -f latin1 -t utf-8',
  ],
  [
    'an extended name not in UTF-8',
    after(pax({ path: latin1 }), file('x')),
    'Cannot import memories/caf\uFFFD: its name is not UTF-8. Rename it, for example with: convmv -f latin1 -t utf-8',
  ],
  [
    'a GNU long name not in UTF-8',
    after(
      entry({ name: '././@LongLink', type: 'L', content: Buffer.concat([latin1, Buffer.alloc(1)]) }),
      file('x'),
    ),
    'Cannot import memories/caf\\xE9: its name is not UTF-8. Rename it, for example with: convmv -f latin1 -t utf-8',
  ],
  [
    'content not in UTF-8',
    after(file('memories/logo.png', Buffer.from('\x89PNG', 'latin1'))),
    'Cannot import memories/logo.png: its content is not UTF-8 text, and a memory holds text only. Leave it out.',
  ],
  [
    'content with NUL',
    after(file('memories/nul', 'a\0b')),
    'Cannot import memories/nul: its content contains a NUL character (U+0000), which cannot be stored. Leave it out.',
  ],
  [
    'a file twice',
    after(file('memories/a'), file('./memories//a')),
    'Cannot import ./memories//a: /memories/a is in the archive twice.',
  ],
  [
    'a file that is a directory',
    after(file('memories/a/b'), file('memories/a')),
    'Cannot import memories/a: /memories/a would be both a file and a directory.',
  ],
  [
    'a file below a file',
    after(file('memories/a'), file('memories/a/b/c')),
    'Cannot import memories/a/b/c: /memories/a would be both a file and a directory.',
  ],
  [
    'a file instead of the root',
    after(file('memories')),
    'Cannot import memories: /memories would be both a file and a directory.',
  ],
  [
    'two names for one path',
    after(file('memories/\u00e9'), file('memories/e\u0301')),
    'Cannot import /memories/e\u0301: its path and that of another entry are the same once normalised to Unicode NFC, as paths are kept: /memories/e\\u0301 and /memories/\\u00E9. Rename one of them.',
  ],
  [
    'two names for one directory',
    after(file('memories/\u00e9/a'), file('memories/e\u0301/b')),
    'Cannot import /memories/e\u0301: its path and that of another entry are the same once normalised to Unicode NFC, as paths are kept: /memories/e\\u0301 and /memories/\\u00E9. Rename one of them.',
  ],
  [
    'a file that is too large',
    after(file('memories/large', 'x'.repeat(2049))),
    'Cannot import memories/large: it has 2049 bytes, and a file of {tenant} may have 2048. Leave it out, or raise the limit with: memory-service tenants set {tenant} --max-file-bytes 2049',
  ],
  [
    'an archive cut short in a file',
    after(file('memories/b', 'x'.repeat(2000))).subarray(0, 3000),
    'The archive is cut short: it has no end. Make or copy it again.',
  ],
  [
    'an archive cut short in a header',
    after(file('memories/b')).subarray(0, 1300),
    'The archive is cut short: it has no end. Make or copy it again.',
  ],
  [
    'an archive cut short between two files',
    good,
    'The archive is cut short: it has no end. Make or copy it again.',
  ],
  [
    'an archive cut short before a name’s file',
    Buffer.concat([good, pax({ path: 'memories/x' })]),
    'The archive is cut short: it has no end. Make or copy it again.',
  ],
  [
    'nothing at all',
    Buffer.alloc(0),
    'This is no tar archive, or a damaged one. If it is compressed, unpack it first: gunzip -c archive.tar.gz | memory-service import <tenant> -',
  ],
  ['an empty archive', END, 'There is nothing to import: the archive is empty.'],
  [
    'an archive with a flipped bit',
    Buffer.from(after(file('memories/b'))).fill(0xff, 1030, 1031),
    'This is no tar archive, or a damaged one. If it is compressed, unpack it first: gunzip -c archive.tar.gz | memory-service import <tenant> -',
  ],
  [
    'a compressed archive',
    gzipSync(after()),
    'This is no tar archive, or a damaged one. If it is compressed, unpack it first: gunzip -c archive.tar.gz | memory-service import <tenant> -',
  ],
  [
    'two archives in one',
    Buffer.concat([after(), archiveOf({ 'memories/b': 'b' })]),
    'Cannot import memories/b: it comes after the end of the archive. If these are several archives in one file, import each by itself.',
  ],
];

describeService('transfer refuses', (service) => {
  afterAll(() => assertInvariants(service()));

  async function tenantWith(...paths: string[]): Promise<string> {
    const tenant = freshTenant();
    await new Tenants(service().database).create(tenant);
    for (const path of paths) await service().execute(cmd.create(path, 'old'), { tenant });
    return tenant;
  }

  async function refused(
    tenant: string,
    args: string[],
    stdin?: Parameters<typeof runCli>[2],
  ): Promise<string | undefined> {
    const before = await readTree(service(), tenant);
    const { error, stdout } = await runCli(service(), ['import', tenant, ...args], stdin);
    expect(stdout.toString()).toBe('');
    expect(await readTree(service(), tenant)).toStrictEqual(before);
    return error?.replaceAll(tenant, '{tenant}').replace(/\nNothing was imported\.$/, '');
  }

  it.each(ARCHIVES)('%s', async (_title, stdin, message) => {
    const tenant = await tenantWith('/memories/old');
    await new Tenants(service().database).set(tenant, { maxFileBytes: 2048 });
    expect(await refused(tenant, ['-'], { stdin })).toBe(message);
  });

  it('more than the tenant may have, as soon as that is clear', async () => {
    const tenants = new Tenants(service().database);
    const tenant = await tenantWith('/memories/old');
    const three = archiveOf({ 'memories/1': '1', 'memories/2': '2', 'memories/3': '3' });
    const two = archiveOf({ 'memories/1': '1', 'memories/2': '2' });
    await tenants.set(tenant, { maxFiles: 2 });
    expect(await refused(tenant, ['-'], { stdin: three })).toBe(
      'The import has more than the 2 files that {tenant} may have. Raise the limit with: memory-service tenants set {tenant} --max-files <n>',
    );
    expect(await refused(tenant, ['-'], { stdin: two })).toBe(
      'There is no room: {tenant} has 1 of 2 files, and the import needs 2. Raise the limit with: memory-service tenants set {tenant} --max-files 3',
    );
    await tenants.set(tenant, { maxFiles: null, maxBytes: 4 });
    expect(await refused(tenant, ['-'], { stdin: two })).toBe(
      'There is no room: {tenant} has 3 of 4 bytes, and the import needs 2. Raise the limit with: memory-service tenants set {tenant} --max-bytes 5',
    );
    expect(await refused(tenant, ['-'], { stdin: archiveOf({ 'memories/1': '12345' }) })).toBe(
      'The import has more than the 4 bytes that {tenant} may have. Raise the limit with: memory-service tenants set {tenant} --max-bytes <n>',
    );
    await tenants.set(tenant, { maxBytes: 5, maxFiles: 3 });
    expect((await runCli(service(), ['import', tenant, '-'], { stdin: two })).error).toBeUndefined();
    await assertInvariants(service());
  });

  it('what exists already, naming the first', async () => {
    const paths = ['a', 'b', 'c', 'd', 'e', 'f', 'g/h'].map((name) => `/memories/${name}`);
    const tenant = await tenantWith(...paths);
    const names = ['a', 'b', 'c', 'd', 'e/below', 'f/below/it', 'g', 'new/one'].map(
      (name) => `memories/${name}`,
    );
    const stdin = archiveOf(Object.fromEntries(names.map((name) => [name, 'new'])));
    expect(await refused(tenant, ['-'], { stdin })).toBe(
      'There is something already at 7 of the paths:\n  /memories/a\n  /memories/b\n  /memories/c\n  /memories/d\n  /memories/e\n  and 2 more\nDelete or rename what is there, or import into another directory with --into.',
    );
    expect(await refused(tenant, ['-'], { stdin: archiveOf({ 'memories/g/h': 'new' }) })).toBe(
      'There is something already at 1 of the paths:\n  /memories/g/h\nDelete or rename what is there, or import into another directory with --into.',
    );
  });

  it('10 GB of zeros, after its header', async () => {
    const tenant = await tenantWith();
    const size = 10 * 1024 ** 3;
    const zeros = tenGigabytes(Buffer.concat([good, entry({ name: 'memories/zeros', size })]));
    expect(await refused(tenant, ['-'], { stdin: zeros.stream })).toBe(
      `Cannot import memories/zeros: it has ${size} bytes, and a file of {tenant} may have 1048576. Leave it out, or raise the limit with: memory-service tenants set {tenant} --max-file-bytes ${size}`,
    );
    expect(zeros.read()).toBeLessThan(1024 ** 2);

    await new Tenants(service().database).set(tenant, { maxFileBytes: 0 });
    const unlimited = tenGigabytes(entry({ name: 'memories/zeros', size }));
    expect(await refused(tenant, ['-'], { stdin: unlimited.stream })).toBe(
      `Cannot import memories/zeros: it has ${size} bytes, and no file may have more than 134217728.`,
    );
    expect(unlimited.read()).toBeLessThan(1024 ** 2);
  });

  it('10 GB of zeros that are no archive, or the end of one', async () => {
    const tenant = await tenantWith();
    for (const start of [Buffer.alloc(512), good]) {
      const zeros = tenGigabytes(start);
      expect(await refused(tenant, ['-'], { stdin: zeros.stream })).toBe(
        'This is no tar archive, or a damaged one: 16777216 bytes went by without an entry.',
      );
      expect(zeros.read()).toBeLessThan(20 * 1024 ** 2);
    }
  });

  it('what is no file or directory of a folder, and names that are not UTF-8', async () => {
    const tenant = await tenantWith();
    const folder = async (make: (memories: string) => Promise<unknown>) => {
      const base = await mkdtemp(join(inject('scratch'), 'refused-'));
      await mkdir(join(base, 'memories'));
      await writeFile(join(base, 'memories', 'a'), 'a');
      await make(join(base, 'memories'));
      return base;
    };
    const linked = await folder((at) => symlink('/etc/passwd', join(at, 'link')));
    expect(await refused(tenant, [linked])).toBe(
      'Cannot import memories/link: it is a symbolic link, and a memory holds files and directories only.',
    );
    const linkedDirectory = await folder((at) => symlink('/etc', join(at, 'link')));
    expect(await refused(tenant, [linkedDirectory])).toBe(
      'Cannot import memories/link: it is a symbolic link, and a memory holds files and directories only.',
    );
    const piped = await folder((at) => promisify(execFile)('mkfifo', [join(at, 'pipe')]));
    expect(await refused(tenant, [piped])).toBe(
      'Cannot import memories/pipe: it is a named pipe, and a memory holds files and directories only.',
    );
    const named = await folder((at) =>
      writeFile(Buffer.concat([Buffer.from(`${at}/`), latin1.subarray(9)]), 'x'),
    );
    expect(await refused(tenant, [named])).toBe(
      'Cannot import memories/caf\\xE9: its name is not UTF-8. Rename it, for example with: convmv -f latin1 -t utf-8',
    );
    const sparse = await folder((at) => promisify(execFile)('truncate', ['-s', '10G', join(at, 'zeros')]));
    expect(await refused(tenant, [sparse])).toContain(
      'Cannot import memories/zeros: it has 10737418240 bytes',
    );
  });

  it('sources and options that make no sense', async () => {
    const tenant = await tenantWith();
    const empty = await mkdtemp(join(inject('scratch'), 'refused-'));
    expect(await refused(tenant, [empty])).toBe(
      `${empty} is not a folder memories, and has none in it. Say where its files go with --into, for example --into /memories.`,
    );
    expect(await refused(tenant, [empty, '--strip', '1', '--into', '/memories'])).toBe(
      '--strip is for archives: name the folder itself, and use --into.',
    );
    expect(await refused(tenant, [join(empty, 'missing')])).toBe(
      `Cannot read ${join(empty, 'missing')} (ENOENT).`,
    );
    const stdin = archiveOf({ 'memories/a': 'a' });
    expect(await refused(tenant, ['-', '--strip', '2', '--into', '/memories'], { stdin })).toBe(
      'Cannot import memories/a: --strip 2 leaves nothing of its path.',
    );
    expect(await refused(tenant, ['-', '--into', '/elsewhere'], { stdin })).toBe(
      "error: option '--into <path>' argument '/elsewhere' is invalid. Path must start with /memories, got: /elsewhere",
    );
    const absolute = archiveOf({ '/memories/a': 'a' });
    expect(await refused(tenant, ['-', '--into', '/memories'], { stdin: absolute })).toBe(
      'Cannot import /memories/a: its path is absolute; with --into, paths have to be relative.',
    );
    expect(await refused(tenant, ['-'], { stdin: Object.assign(new PassThrough(), { isTTY: true }) })).toBe(
      'There is no archive: the standard input is a terminal.',
    );
    const nobody = freshTenant();
    for (const args of [
      ['ls', nobody],
      ['cat', nobody, '/memories/a'],
      ['export', nobody],
      ['import', nobody, empty],
    ]) {
      expect((await runCli(service(), args)).error).toBe(
        `There is no tenant ${nobody}. Make it with: memory-service tenants create ${nobody}`,
      );
    }
  });

  it('secrets, or masks them, as the tenant has it', async () => {
    const tenant = await tenantWith();
    const key = `ghp_${'a1B2'.repeat(9)}`;
    const stdin = archiveOf({ 'memories/harmless': 'x', 'memories/key': `key: ${key}\n` });
    await new Tenants(service().database).set(tenant, { redact: 'reject' });
    const message = await refused(tenant, ['-'], { stdin });
    expect(message).toBe(
      'Cannot import memories/key: it contains what looks like a secret (github_token). Take that out of it.',
    );
    await new Tenants(service().database).set(tenant, { redact: 'mask' });
    const masked = await runCli(service(), ['import', tenant, '-'], { stdin });
    expect(masked.stderr).toBe(
      `memories/key: masked what looks like a secret (github_token).\nImported 2 files (30 bytes) and 0 directories into ${tenant}.\n`,
    );
    const { stdout } = await runCli(service(), ['cat', tenant, '/memories/key']);
    expect(stdout.toString()).toBe('key: [REDACTED:github_token]\n');
    await assertInvariants(service());
  });
});
