/**
 * Input that `import` rejects with an actionable message and without any change.
 *
 * @module-tag long-on-pglite
 */
import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { PassThrough, Readable } from 'node:stream';
import { promisify } from 'node:util';
import { afterAll, expect, inject, it } from 'vitest';
import { Tenants } from '../../src/core/tenants/tenants.ts';
import { createArchive, END, entry, pax, tenGigabytes } from '../support/create-archive.ts';
import { assertInvariants } from '../support/invariants.ts';
import { runCli } from '../support/run-cli.ts';
import { describeService, freshTenant } from '../support/test-service.ts';
import { expectImportRejection, tenantWith } from '../support/transfer-files.ts';

const good = entry({ name: 'memories/good', content: 'good' });
const latin1 = Buffer.from('caf\xE9', 'latin1');

describeService('rejected transfers', (service) => {
  afterAll(() => assertInvariants(service()));

  const importError = (tenant: string, args: string[], options?: { stdin: Readable | Buffer }) =>
    expectImportRejection(service(), tenant, args, options);
  const tenantWithOld = (...paths: string[]) =>
    tenantWith(service(), Object.fromEntries(paths.map((path) => [path, 'old'])));

  it('rejects an import as soon as it exceeds the quota', async () => {
    const tenants = new Tenants(service().database);
    const tenant = await tenantWithOld('/memories/old');
    const three = createArchive({ 'memories/1': '1', 'memories/2': '2', 'memories/3': '3' });
    const two = createArchive({ 'memories/1': '1', 'memories/2': '2' });
    await tenants.set(tenant, { maxFiles: 2 });
    expect(await importError(tenant, ['-'], { stdin: three })).toBe(
      'The import has more than the 2 files that {tenant} may have. Raise the limit with: memory-service tenants set {tenant} --max-files <n>',
    );
    expect(await importError(tenant, ['-'], { stdin: two })).toBe(
      'Tenant {tenant} uses 1 of 2 files, and the import needs 2 more. Raise the limit with: memory-service tenants set {tenant} --max-files 3',
    );
    await tenants.set(tenant, { maxFiles: null, maxBytes: 4 });
    expect(await importError(tenant, ['-'], { stdin: two })).toBe(
      'Tenant {tenant} uses 3 of 4 bytes, and the import needs 2 more. Raise the limit with: memory-service tenants set {tenant} --max-bytes 5',
    );
    expect(await importError(tenant, ['-'], { stdin: createArchive({ 'memories/1': '12345' }) })).toBe(
      'The import has more than the 4 bytes that {tenant} may have. Raise the limit with: memory-service tenants set {tenant} --max-bytes <n>',
    );
    await tenants.set(tenant, { maxBytes: 5, maxFiles: 3 });
    expect((await runCli(service(), ['import', tenant, '-'], { stdin: two })).error).toBeUndefined();
    await assertInvariants(service());
  });

  it('rejects an import if some paths already exist, and lists the first ones', async () => {
    const paths = ['a', 'b', 'c', 'd', 'e', 'f', 'g/h'].map((name) => `/memories/${name}`);
    const tenant = await tenantWithOld(...paths);
    const names = ['a', 'b', 'c', 'd', 'e/below', 'f/below/it', 'g', 'new/one'].map(
      (name) => `memories/${name}`,
    );
    const stdin = createArchive(Object.fromEntries(names.map((name) => [name, 'new'])));
    expect(await importError(tenant, ['-'], { stdin })).toBe(
      '7 paths are already in use:\n  /memories/a\n  /memories/b\n  /memories/c\n  /memories/d\n  /memories/e\n  and 2 more\nDelete or rename what is there, or import into another directory. Choose that directory with --into.',
    );
    expect(await importError(tenant, ['-'], { stdin: createArchive({ 'memories/g/h': 'new' }) })).toBe(
      '1 path is already in use:\n  /memories/g/h\nDelete or rename what is there, or import into another directory. Choose that directory with --into.',
    );
  });

  it('rejects a 10 GB file as soon as its header is read', async () => {
    const tenant = await tenantWithOld();
    const size = 10 * 1024 ** 3;
    const zeros = tenGigabytes(Buffer.concat([good, entry({ name: 'memories/zeros', size })]));
    expect(await importError(tenant, ['-'], { stdin: zeros.stream })).toBe(
      `Cannot import memories/zeros: it has ${size} bytes, and the maximum file size of {tenant} is 1048576. Leave it out, or raise the limit with: memory-service tenants set {tenant} --max-file-bytes ${size}`,
    );
    expect(zeros.read()).toBeLessThan(1024 ** 2);

    await new Tenants(service().database).set(tenant, { maxFileBytes: 0 });
    const unlimited = tenGigabytes(entry({ name: 'memories/zeros', size }));
    expect(await importError(tenant, ['-'], { stdin: unlimited.stream })).toBe(
      `Cannot import memories/zeros: it has ${size} bytes; the maximum is 134217728.`,
    );
    expect(unlimited.read()).toBeLessThan(1024 ** 2);
  });

  it('rejects an invalid size in an entry or its extended header', async () => {
    const tenant = await tenantWithOld();
    const negative = '\xFF'.repeat(12);
    const file = (size?: string) => entry({ name: 'memories/a', content: 'content', ...(size && { size }) });
    const archives: Record<string, Buffer[]> = {
      octal: [file('1e3')],
      'octal with digits after it': [file('00000000007x')],
      'of an extended header': [entry({ name: 'PaxHeader', type: 'x', content: 'x', size: '1e3' }), file()],
      'extended with an exponent': [pax({ size: '1e3' }), file()],
      'extended and hexadecimal': [pax({ size: '0x7' }), file()],
    };
    for (const [title, entries] of Object.entries(archives)) {
      const stdin = Buffer.concat([good, ...entries, END]);
      expect([title, await importError(tenant, ['-'], { stdin })]).toStrictEqual([
        title,
        'Cannot import memories/a: its size is not a number of bytes. Create the archive again.',
      ]);
    }
    for (const entries of [
      [file(negative)],
      [entry({ name: 'PaxHeader', type: 'x', size: negative }), file()],
      [pax({ size: '-7' }), file()],
    ]) {
      const stdin = Buffer.concat([good, ...entries, END]);
      expect(await importError(tenant, ['-'], { stdin })).toMatch(
        /^This is not a tar archive, or it is damaged|its size is not a number of bytes/,
      );
    }
  });

  it('rejects 10 GB of zeros in place of an archive or after its end', async () => {
    const tenant = await tenantWithOld();
    for (const start of [Buffer.alloc(512), good]) {
      const zeros = tenGigabytes(start);
      expect(await importError(tenant, ['-'], { stdin: zeros.stream })).toBe(
        'This is not a tar archive, or it is damaged. If it is compressed, decompress it first. For example: gunzip -c archive.tar.gz | memory-service import <tenant> -',
      );
      expect(zeros.read()).toBeLessThan(20 * 1024 ** 2);
    }
  });

  it('rejects symbolic links, other special files, and names that are not UTF-8 in a directory', async () => {
    const tenant = await tenantWithOld();
    const directory = async (make: (memories: string) => Promise<unknown>) => {
      const base = await mkdtemp(join(inject('scratch'), 'rejected-'));
      await mkdir(join(base, 'memories'));
      await writeFile(join(base, 'memories', 'a'), 'a');
      await make(join(base, 'memories'));
      return base;
    };
    const linked = await directory((at) => symlink('/etc/passwd', join(at, 'link')));
    expect(await importError(tenant, [linked])).toBe(
      'Cannot import memories/link: it is a symbolic link; a memory holds only files and directories. Leave it out, or include its target instead (tar --dereference).',
    );
    const linkedDirectory = await directory((at) => symlink('/etc', join(at, 'link')));
    expect(await importError(tenant, [linkedDirectory])).toBe(
      'Cannot import memories/link: it is a symbolic link; a memory holds only files and directories. Leave it out, or include its target instead (tar --dereference).',
    );
    const piped = await directory((at) => promisify(execFile)('mkfifo', [join(at, 'pipe')]));
    expect(await importError(tenant, [piped])).toBe(
      'Cannot import memories/pipe: it is a named pipe; a memory holds only files and directories. Leave it out.',
    );
    const named = await directory((at) => writeFile(Buffer.concat([Buffer.from(`${at}/`), latin1]), 'x'));
    expect(await importError(tenant, [named])).toBe(
      'Cannot import memories/caf\\xE9: its name is not UTF-8. Rename it, for example with: convmv -f latin1 -t utf-8',
    );
    const sparse = await directory((at) => promisify(execFile)('truncate', ['-s', '10G', join(at, 'zeros')]));
    expect(await importError(tenant, [sparse])).toContain(
      'Cannot import memories/zeros: it has 10737418240 bytes',
    );
  });

  it("explains why an import's source or options are invalid", async () => {
    const tenant = await tenantWithOld();
    const empty = await mkdtemp(join(inject('scratch'), 'rejected-'));
    expect(await importError(tenant, [empty])).toBe(
      `${empty} is not named memories and contains no directory memories, and no destination directory is given. Choose one with --into, for example --into /memories.`,
    );
    expect(await importError(tenant, [empty, '--strip', '1', '--into', '/memories'])).toBe(
      '--strip works only with archives. Name the directory itself, and use --into.',
    );
    expect(await importError(tenant, [join(empty, 'missing')])).toBe(
      `Cannot read ${join(empty, 'missing')} (ENOENT).`,
    );
    const stdin = createArchive({ 'memories/a': 'a' });
    expect(await importError(tenant, ['-', '--strip', '2', '--into', '/memories'], { stdin })).toBe(
      'Cannot import memories/a: removing 2 leading segments leaves nothing of its path. Use a smaller number for --strip.',
    );
    expect(await importError(tenant, ['-', '--into', '/elsewhere'], { stdin })).toBe(
      "error: option '--into <path>' argument '/elsewhere' is invalid. Path must start with /memories, got: /elsewhere",
    );
    const absolute = createArchive({ '/memories/a': 'a' });
    expect(await importError(tenant, ['-', '--into', '/memories'], { stdin: absolute })).toBe(
      'Cannot import /memories/a: its path is absolute; below a destination directory, paths must be relative.',
    );
    expect(
      await importError(tenant, ['-'], { stdin: Object.assign(new PassThrough(), { isTTY: true }) }),
    ).toBe('Standard input is a terminal. Name an archive, or pipe one into the command.');
    const nobody = freshTenant();
    for (const args of [
      ['ls', nobody],
      ['cat', nobody, '/memories/a'],
      ['export', nobody],
    ]) {
      expect((await runCli(service(), args)).error).toBe(
        `Tenant ${nobody} does not exist. See: memory-service tenants list`,
      );
    }
    expect((await runCli(service(), ['import', nobody, empty])).error).toBe(
      `Tenant ${nobody} does not exist. See: memory-service tenants list, or create it: memory-service tenants create ${nobody}\nNothing was imported.`,
    );
  });

  it('rejects an import with a secret in a path, without quoting the secret', async () => {
    const tenant = await tenantWithOld();
    const key = `ghp_${'a1B2'.repeat(9)}`;
    for (const secrets of ['mask', 'reject'] as const) {
      await new Tenants(service().database).set(tenant, { secrets });
      for (const name of [`memories/d/${key}`, `memories/${key}/f`, `memories/${key}/`]) {
        const stdin = createArchive({ [name]: '' });
        expect(await importError(tenant, ['-'], { stdin })).toBe(
          `Cannot import /${name.replace(key, '[REDACTED:github_token]').replace(/\/$/, '')}: its path contains what looks like a secret (github_token). Rename it, or leave it out.`,
        );
      }
    }
  });

  it('rejects an archive if the setting SECRETS changes while the archive is read', async () => {
    const tenants = new Tenants(service().database);
    const tenant = await tenantWithOld();
    const archive = createArchive({ 'memories/key': `key: ghp_${'a1B2'.repeat(9)}\n` });
    const slowInput = async function* () {
      yield archive.subarray(0, 1024);
      await tenants.set(tenant, { secrets: 'reject' });
      yield archive.subarray(1024);
    };
    expect(await importError(tenant, ['-'], { stdin: Readable.from(slowInput()) })).toBe(
      'The setting SECRETS of tenant {tenant} changed while the archive was read. Import it again.',
    );
  });

  it('rejects an import with secrets for SECRETS=reject, and masks them for SECRETS=mask', async () => {
    const tenant = await tenantWithOld();
    const key = `ghp_${'a1B2'.repeat(9)}`;
    const stdin = createArchive({ 'memories/harmless': 'x', 'memories/key': `key: ${key}\n` });
    await new Tenants(service().database).set(tenant, { secrets: 'reject' });
    const message = await importError(tenant, ['-'], { stdin });
    expect(message).toBe(
      'Cannot import memories/key: it contains what looks like a secret (github_token). Remove the secret.',
    );
    await new Tenants(service().database).set(tenant, { secrets: 'mask' });
    const masked = await runCli(service(), ['import', tenant, '-'], { stdin });
    expect(masked.stderr).toBe(
      `memories/key: masked what looks like a secret (github_token).\nImported 2 files (30 bytes) and 0 directories into ${tenant}.\n`,
    );
    const { stdout } = await runCli(service(), ['cat', tenant, '/memories/key']);
    expect(stdout.toString()).toBe('key: [REDACTED:github_token]\n');
    await assertInvariants(service());
  });
});
