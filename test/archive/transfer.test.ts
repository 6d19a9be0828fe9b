/**
 * `ls`, `cat`, `export`, and successful `import` cases.
 *
 * @module-tag long-on-pglite
 */
import { execFile } from 'node:child_process';
import { lstat, mkdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { BetaLocalFilesystemMemoryTool } from '@anthropic-ai/sdk/tools/memory/node';
import { expect, it } from 'vitest';
import { createArchive, END, entry, pax } from '../support/create-archive.ts';
import { assertInvariants } from '../support/invariants.ts';
import { runCli } from '../support/run-cli.ts';
import { cmd } from '../support/step-table.ts';
import { describeService } from '../support/test-service.ts';
import {
  FILES,
  readDirectoryTree,
  readRows,
  scratchDirectory,
  tenantWith,
} from '../support/transfer-files.ts';

describeService('a transfer', (service, kind) => {
  // PGlite drops a byte order mark at the start of a text.
  const files = kind === 'postgres' ? { ...FILES, '/memories/bom.txt': '\uFEFFkept' } : FILES;

  it("exports the same archive each time, which unpacks to the memory's files, directories, and times", async () => {
    const tenant = await tenantWith(service(), files);
    const directory = await scratchDirectory();
    const file = join(directory, 'memory.tar');
    const exported = await runCli(service(), ['export', tenant, '--output', file]);
    expect(exported.stderr).toBe(
      `Exported ${Object.keys(files).length} files (1020 KB) of ${tenant} to ${file}.\n`,
    );
    expect((await lstat(file)).mode & 0o777).toBe(0o600);

    await mkdir(join(directory, 'unpacked'));
    const { stderr } = await promisify(execFile)('tar', ['-xf', file, '-C', join(directory, 'unpacked')]);
    expect(stderr).toBe('');
    const unpacked = await readDirectoryTree(join(directory, 'unpacked'));
    expect(unpacked).toStrictEqual(await readRows(service(), tenant));
    expect(unpacked.get('/memories/empty/directory')?.[0]).toBe(null);

    const again = await runCli(service(), ['export', tenant]);
    expect(again.stdout.equals(await readFile(file))).toBe(true);
    expect(again.stderr).toBe('');
  });

  it('warns about exported files in which git or hg would find commands to run', async () => {
    for (const path of ['/memories/d/.git/config', '/memories/.GIT', '/memories/.hg/hgrc']) {
      const tenant = await tenantWith(service(), { '/memories/.gitignore': 'x', [path]: '[core]' });
      const { stderr, error } = await runCli(service(), ['export', tenant]);
      expect([error, stderr]).toStrictEqual([
        undefined,
        `Warning: the archive contains ${path}. These files can name commands that git or hg runs in the unpacked directory. Review or remove them before you use git or hg there.\n`,
      ]);
    }
    const harmless = await tenantWith(service(), { '/memories/.gitignore': 'x', '/memories/.github/a': 'x' });
    expect((await runCli(service(), ['export', harmless])).stderr).toBe('');
  });

  it('imports an archive into another tenant with the same files and times', async () => {
    const tenant = await tenantWith(service(), files);
    const { stdout } = await runCli(service(), ['export', tenant]);
    const other = await tenantWith(service());
    const imported = await runCli(service(), ['import', other, '-'], { stdin: stdout });
    expect(imported.error).toBeUndefined();
    expect(await readRows(service(), other)).toStrictEqual(await readRows(service(), tenant));
    await assertInvariants(service());

    // Imported files can be edited like created ones.
    const replaced = await service().execute(cmd.replace('/memories/a.md', 'one', 'two'), { tenant: other });
    expect(replaced.is_error).toBe(false);
    await service().execute(cmd.rename('/memories/a', '/memories/z'), { tenant: other });
    await assertInvariants(service());
  });

  it('exports, imports, and lists an empty memory', async () => {
    const tenant = await tenantWith(service());
    const { stdout } = await runCli(service(), ['export', tenant]);
    const imported = await runCli(service(), ['import', tenant, '-'], { stdin: stdout });
    expect(imported.stderr).toBe(`Imported 0 files (0 bytes) and 0 directories into ${tenant}.\n`);
    expect((await runCli(service(), ['ls', await tenantWith(service()), '--json'])).stdout.toString()).toBe(
      '[]\n',
    );
  });

  it('lists paths and prints files', async () => {
    const tenant = await tenantWith(service(), {
      '/memories/a.md': 'Grüße\r\n',
      '/memories/a/b': '',
      '/memories/ab': 'x',
    });
    const ls = async (...args: string[]) =>
      (await runCli(service(), ['ls', tenant, ...args])).stdout.toString();
    expect(await ls()).toBe(
      `    SIZE  MODIFIED              PATH
       -  2024-02-29T12:36:56Z  /memories/a/
     9 B  2024-02-29T12:37:56Z  /memories/a.md
     0 B  2024-02-29T12:38:56Z  /memories/a/b
     1 B  2024-02-29T12:39:56Z  /memories/ab
       -  2024-02-29T12:40:56Z  /memories/empty/
       -  2024-02-29T12:41:56Z  /memories/empty/directory/
`,
    );
    expect(await ls('/memories/a')).toBe(
      `    SIZE  MODIFIED              PATH
       -  2024-02-29T12:36:56Z  /memories/a/
     0 B  2024-02-29T12:38:56Z  /memories/a/b
`,
    );
    expect(JSON.parse(await ls('/memories/a', '--json'))).toStrictEqual([
      { path: '/memories/a', kind: 'dir', bytes: null, modified_at: '2024-02-29T12:36:56Z' },
      { path: '/memories/a/b', kind: 'file', bytes: 0, modified_at: '2024-02-29T12:38:56Z' },
    ]);
    expect((await runCli(service(), ['cat', tenant, '/memories//a.md'])).stdout.toString()).toBe('Grüße\r\n');
    expect((await runCli(service(), ['cat', tenant, '/memories/a/b'])).stdout.toString()).toBe('');
    for (const [args, message] of [
      [['ls', tenant, '/memories/A'], `/memories/A does not exist. See: memory-service ls ${tenant}`],
      [['cat', tenant, '/memories/A'], `/memories/A does not exist. See: memory-service ls ${tenant}`],
      [
        ['cat', tenant, '/memories/a'],
        `/memories/a is a directory. List it with: memory-service ls ${tenant} /memories/a`,
      ],
      [
        ['cat', tenant, '/etc/passwd'],
        "error: command-argument value '/etc/passwd' is invalid for argument 'path'. Path must start with /memories, got: /etc/passwd",
      ],
    ] as const) {
      expect(await runCli(service(), [...args])).toMatchObject({ error: message });
    }
  });

  it("lists several pages, and omits siblings whose names begin with the directory's name", async () => {
    const paths = Array.from({ length: 1203 }, (_, i) => `memories/d/${i}`);
    const tenant = await tenantWith(service());
    const stdin = createArchive(
      Object.fromEntries([...paths, 'memories/d-', 'memories/d0'].map((path) => [path, ''])),
    );
    await runCli(service(), ['import', tenant, '-'], { stdin });
    const { stdout } = await runCli(service(), ['ls', tenant, '/memories/d', '--json']);
    expect(JSON.parse(stdout.toString()).map(({ path }: { path: string }) => path)).toStrictEqual(
      ['/memories/d', ...paths.map((path) => `/${path}`)].sort(),
    );
    const { stdout: archive } = await runCli(service(), ['export', tenant]);
    const other = await tenantWith(service());
    await runCli(service(), ['import', other, '-'], { stdin: archive });
    expect(await readRows(service(), other)).toStrictEqual(await readRows(service(), tenant));
    await assertInvariants(service());
  });

  it("imports the memory tool's local directory from its base or from /memories in it", async () => {
    const base = await scratchDirectory();
    const tool = await BetaLocalFilesystemMemoryTool.init(base);
    await tool.create({ command: 'create', path: '/memories/projects/notes.md', file_text: 'local\n' });
    await mkdir(join(base, 'memories', 'empty'));
    const local = await readDirectoryTree(base);
    for (const [directory, ...options] of [
      [base],
      [join(base, 'memories')],
      [join(base, 'memories'), '--into', '/memories'],
    ]) {
      const tenant = await tenantWith(service());
      const ran = await runCli(service(), ['import', tenant, String(directory), ...options]);
      expect(ran.stderr).toBe(`Imported 1 file (6 bytes) and 2 directories into ${tenant}.\n`);
      const rows = await readRows(service(), tenant);
      expect([...rows].map(([path, [content]]) => [path, content])).toStrictEqual(
        [...local].map(([path, [content]]) => [path, content]),
      );
      expect(rows.get('/memories/projects/notes.md')).toStrictEqual(local.get('/memories/projects/notes.md'));
    }
    await assertInvariants(service());
  });

  it('imports names however they are written, into the whole memory or a directory', async () => {
    const archive = Buffer.concat([
      entry({ name: './', type: '5' }),
      entry({ name: './memories/', type: '5' }),
      entry({ name: './memories//a', content: 'a' }),
      entry({ name: '/memories/b', content: 'b' }),
      pax({ path: 'memories/e\u0301' }),
      entry({ name: 'whatever', content: 'é' }),
      entry({ name: 'memories/old/', type: '\0' }),
      END,
    ]);
    const tenant = await tenantWith(service());
    await runCli(service(), ['import', tenant, '-'], { stdin: archive });
    const bare = createArchive({ './x': 'x', 'y/z': 'z' });
    await runCli(service(), ['import', tenant, '-', '--into', '/memories/part'], { stdin: bare });
    const whole = createArchive({ 'memories/x': 'x' });
    await runCli(service(), ['import', tenant, '-', '--strip', '1', '--into', '/memories/other'], {
      stdin: whole,
    });
    const rows = await readRows(service(), tenant);
    expect([...rows].map(([path, [content]]) => [path, content])).toStrictEqual([
      ['/memories', null],
      ['/memories/a', 'a'],
      ['/memories/b', 'b'],
      ['/memories/old', null],
      ['/memories/other', null],
      ['/memories/other/x', 'x'],
      ['/memories/part', null],
      ['/memories/part/x', 'x'],
      ['/memories/part/y', null],
      ['/memories/part/y/z', 'z'],
      ['/memories/é', 'é'],
    ]);
    expect(rows.get('/memories/a')?.[1]).toBe(15);
    await assertInvariants(service());
  });

  it('prints the files that an import would create with --dry-run, and creates none', async () => {
    const tenant = await tenantWith(service());
    await service().execute(cmd.create('/memories/d/old'), { tenant });
    const stdin = createArchive({ 'memories/d/new': 'new', 'memories/e/f': 'f' });
    const ran = await runCli(service(), ['import', tenant, '-', '--dry-run'], { stdin });
    expect(ran.stdout.toString()).toBe('/memories/d/new\n/memories/e/\n/memories/e/f\n');
    expect(ran.stderr).toBe(`Would import 2 files (4 bytes) and 1 directory into ${tenant}.\n`);
    expect([...(await readRows(service(), tenant)).keys()]).toStrictEqual([
      '/memories',
      '/memories/d',
      '/memories/d/old',
    ]);
    await assertInvariants(service());
  });
});
