/** A tenant's memory as a whole: `ls`, `cat`, `export`, and `import` of what can be imported. */
import { execFile } from 'node:child_process';
import { lstat, mkdir, mkdtemp, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { PassThrough, Writable } from 'node:stream';
import { promisify } from 'node:util';
import { BetaLocalFilesystemMemoryTool } from '@anthropic-ai/sdk/tools/memory/node';
import { expect, inject, it } from 'vitest';
import { writeTar } from '../../src/cli/tar.ts';
import { Tenants } from '../../src/db/tenants.ts';
import { type Exported, Transfer } from '../../src/db/transfer.ts';
import { archiveOf, END, entry, pax } from '../support/archives.ts';
import { runCli } from '../support/cli.ts';
import { assertInvariants } from '../support/invariants.ts';
import { describeService, freshTenant, type Service } from '../support/service.ts';
import { cmd } from '../support/table.ts';

const unlimited = { maxFiles: 0, maxBytes: 0 };
const scratch = () => mkdtemp(join(inject('scratch'), 'transfer-'));

const long = (length: number) => 'n'.repeat(length);
const FILES: Record<string, string> = {
  '/memories/a.md': 'one\r\ntwo\n',
  // Between a directory and what is below it in the order of paths.
  '/memories/a/x': 'x',
  '/memories/a-b': '',
  '/memories/a/deep/1/2/3/4/5/6/7/8/9/10/11/12/13/14/15/16/17/f': 'deepest',
  '/memories/.hidden/node_modules/f': 'hidden',
  '/memories/it\'s 100%/"quoted" {a,b} NULL': '{"a,b",NULL,\\"}',
  '/memories/日本/é😀': 'Grüße\n',
  '/memories/\uFFFD.md': 'what is left of bytes that were no UTF-8',
  [`/memories/${long(255)}`]: 'name of the greatest length',
  [`/memories/${[250, 250, 250, 250].map(long).join('/')}`]: 'path of nearly the greatest length',
  ...Object.fromEntries([511, 512, 513].map((bytes) => [`/memories/${bytes}`, 'b'.repeat(bytes)])),
  '/memories/large': 'a line\n'.repeat(149_000),
};

async function fill(service: Service, tenant: string, files: Record<string, string>): Promise<void> {
  for (const [path, text] of Object.entries(files)) {
    const { content } = await service.execute(cmd.create(path, text), { tenant });
    expect(content).toBe(`File created successfully at: ${path}`);
  }
  await service.execute(cmd.create('/memories/empty/directory/f'), { tenant });
  await service.execute(cmd.delete('/memories/empty/directory/f'), { tenant });
  // A time of its own for every entry.
  await service.query(
    `UPDATE entries AS e SET updated_at = '2024-02-29T12:34:56.789Z'::timestamptz + n.n * interval '1 minute'
     FROM (SELECT path, row_number() OVER (ORDER BY path) AS n FROM entries WHERE tenant_id = $1::text) AS n
     WHERE e.tenant_id = $1::text AND e.path = n.path`,
    [tenant],
  );
}

async function tenantWith(service: Service, files: Record<string, string> = {}): Promise<string> {
  const tenant = freshTenant();
  await new Tenants(service.database).create(tenant);
  if (Object.keys(files).length > 0) await fill(service, tenant, files);
  return tenant;
}

type Entry = [content: string | null, seconds: number];

/** What the database has. */
async function rowsOf(service: Service, tenant: string): Promise<Map<string, Entry>> {
  const rows = await service.query(
    `SELECT path, content, floor(extract(epoch FROM updated_at))::float8 AS seconds FROM entries
     WHERE tenant_id = $1::text ORDER BY path`,
    [tenant],
  );
  return new Map(rows.map((row) => [String(row.path), [row.content as string | null, Number(row.seconds)]]));
}

/** What a folder has, in the same form. */
async function treeOf(folder: string): Promise<Map<string, Entry>> {
  const tree: [string, Entry][] = [];
  for (const name of await readdir(folder, { recursive: true })) {
    const path = join(folder, name);
    const stat = await lstat(path);
    const content = stat.isDirectory() ? null : await readFile(path, 'utf8');
    tree.push([`/${name}`, [content, Math.floor(stat.mtimeMs / 1000)]]);
  }
  return new Map(tree.sort(([a], [b]) => Buffer.compare(Buffer.from(a), Buffer.from(b))));
}

describeService('transfer', (service, kind) => {
  // PGlite's reader drops a BOM at the beginning of a text.
  const files = kind === 'postgres' ? { ...FILES, '/memories/bom.txt': '\uFEFFkept' } : FILES;

  it('what is exported unpacks to the same tree, with its times, and is the same each time', async () => {
    const tenant = await tenantWith(service(), files);
    const folder = await scratch();
    const file = join(folder, 'memory.tar');
    const exported = await runCli(service(), ['export', tenant, '--output', file]);
    const bytes = Object.values(files).reduce((sum, text) => sum + Buffer.byteLength(text), 0);
    expect(exported.stderr).toBe(
      `Exported ${Object.keys(files).length} files (${bytes} bytes) of ${tenant} to ${file}.\n`,
    );
    expect((await lstat(file)).mode & 0o777).toBe(0o600);

    await mkdir(join(folder, 'unpacked'));
    const { stderr } = await promisify(execFile)('tar', ['-xf', file, '-C', join(folder, 'unpacked')]);
    expect(stderr).toBe('');
    const unpacked = await treeOf(join(folder, 'unpacked'));
    expect(unpacked).toStrictEqual(await rowsOf(service(), tenant));
    expect(unpacked.get('/memories/empty/directory')?.[0]).toBe(null);

    const again = await runCli(service(), ['export', tenant]);
    expect(again.stdout.equals(await readFile(file))).toBe(true);
    expect(again.stderr).toBe('');
  });

  it('what is exported imports into another tenant as it was', async () => {
    const tenant = await tenantWith(service(), files);
    const { stdout } = await runCli(service(), ['export', tenant]);
    const other = await tenantWith(service());
    const imported = await runCli(service(), ['import', other, '-'], { stdin: stdout });
    expect(imported.error).toBeUndefined();
    expect(await rowsOf(service(), other)).toStrictEqual(await rowsOf(service(), tenant));
    await assertInvariants(service());

    // What was imported is as good as what was created.
    const replaced = await service().execute(cmd.replace('/memories/a.md', 'one', 'two'), { tenant: other });
    expect(replaced.is_error).toBe(false);
    await service().execute(cmd.rename('/memories/a', '/memories/z'), { tenant: other });
    await assertInvariants(service());
  });

  it('a memory that nothing was written to', async () => {
    const tenant = await tenantWith(service());
    const { stdout } = await runCli(service(), ['export', tenant]);
    const imported = await runCli(service(), ['import', tenant, '-'], { stdin: stdout });
    expect(imported.stderr).toBe(`Imported 0 files (0 bytes) and 0 directories into ${tenant}.\n`);
    expect((await runCli(service(), ['ls', await tenantWith(service()), '--json'])).stdout.toString()).toBe(
      '[]\n',
    );
  });

  it('ls and cat', async () => {
    const tenant = await tenantWith(service(), {
      '/memories/a.md': 'Grüße\r\n',
      '/memories/a/b': '',
      '/memories/ab': 'x',
    });
    const ls = async (...args: string[]) =>
      (await runCli(service(), ['ls', tenant, ...args])).stdout.toString();
    expect(await ls()).toBe(
      `      BYTES  MODIFIED              PATH
          -  2024-02-29T12:35:56Z  /memories/
          -  2024-02-29T12:36:56Z  /memories/a/
          9  2024-02-29T12:37:56Z  /memories/a.md
          0  2024-02-29T12:38:56Z  /memories/a/b
          1  2024-02-29T12:39:56Z  /memories/ab
          -  2024-02-29T12:40:56Z  /memories/empty/
          -  2024-02-29T12:41:56Z  /memories/empty/directory/
`,
    );
    expect(await ls('/memories/a')).toBe(
      `      BYTES  MODIFIED              PATH
          -  2024-02-29T12:36:56Z  /memories/a/
          0  2024-02-29T12:38:56Z  /memories/a/b
`,
    );
    expect(JSON.parse(await ls('/memories/a', '--json'))).toStrictEqual([
      { path: '/memories/a', kind: 'dir', bytes: null, modifiedAt: '2024-02-29T12:36:56Z' },
      { path: '/memories/a/b', kind: 'file', bytes: 0, modifiedAt: '2024-02-29T12:38:56Z' },
    ]);
    expect((await runCli(service(), ['cat', tenant, '/memories//a.md'])).stdout.toString()).toBe('Grüße\r\n');
    expect((await runCli(service(), ['cat', tenant, '/memories/a/b'])).stdout.toString()).toBe('');
    for (const [args, message] of [
      [
        ['ls', tenant, '/memories/A'],
        `There is nothing at /memories/A. See what there is: memory-service ls ${tenant}`,
      ],
      [
        ['cat', tenant, '/memories/A'],
        `There is nothing at /memories/A. See what there is: memory-service ls ${tenant}`,
      ],
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

  it('a listing of several pages, and of a directory between neighbours', async () => {
    const paths = Array.from({ length: 1203 }, (_, i) => `memories/d/${i}`);
    const tenant = await tenantWith(service());
    const stdin = archiveOf(
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
    expect(await rowsOf(service(), other)).toStrictEqual(await rowsOf(service(), tenant));
    await assertInvariants(service());
  });

  it('a folder of the local tool, by its base or itself', async () => {
    const base = await scratch();
    const tool = await BetaLocalFilesystemMemoryTool.init(base);
    await tool.create({ command: 'create', path: '/memories/projects/notes.md', file_text: 'local\n' });
    await mkdir(join(base, 'memories', 'empty'));
    const local = await treeOf(base);
    for (const [folder, ...options] of [
      [base],
      [join(base, 'memories')],
      [join(base, 'memories'), '--into', '/memories'],
    ]) {
      const tenant = await tenantWith(service());
      const ran = await runCli(service(), ['import', tenant, String(folder), ...options]);
      expect(ran.stderr).toBe(`Imported 1 file (6 bytes) and 2 directories into ${tenant}.\n`);
      const rows = await rowsOf(service(), tenant);
      expect([...rows].map(([path, [content]]) => [path, content])).toStrictEqual(
        [...local].map(([path, [content]]) => [path, content]),
      );
      expect(rows.get('/memories/projects/notes.md')).toStrictEqual(local.get('/memories/projects/notes.md'));
    }
    await assertInvariants(service());
  });

  it('names of all spellings, into the memory or a part of it', async () => {
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
    const bare = archiveOf({ './x': 'x', 'y/z': 'z' });
    await runCli(service(), ['import', tenant, '-', '--into', '/memories/part'], { stdin: bare });
    const whole = archiveOf({ 'memories/x': 'x' });
    await runCli(service(), ['import', tenant, '-', '--strip', '1', '--into', '/memories/other'], {
      stdin: whole,
    });
    const rows = await rowsOf(service(), tenant);
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

  it('a dry run says what would be made, and makes nothing', async () => {
    const tenant = await tenantWith(service());
    await service().execute(cmd.create('/memories/d/old'), { tenant });
    const stdin = archiveOf({ 'memories/d/new': 'new', 'memories/e/f': 'f' });
    const ran = await runCli(service(), ['import', tenant, '-', '--dry-run'], { stdin });
    expect(ran.stdout.toString()).toBe('/memories/d/new\n/memories/e/\n/memories/e/f\n');
    expect(ran.stderr).toBe(`Would import 2 files (4 bytes) and 1 directory into ${tenant}.\n`);
    expect([...(await rowsOf(service(), tenant)).keys()]).toStrictEqual([
      '/memories',
      '/memories/d',
      '/memories/d/old',
    ]);
    await assertInvariants(service());
  });

  it('imports that race with other writes keep the counters exact, and happen whole or not at all', async () => {
    const tenant = await tenantWith(service());
    const names = (n: number) => Array.from({ length: 40 }, (_, i) => `memories/d${i % 7}/${n}-${i}`);
    const outcomes = await Promise.all([
      ...[1, 2, 2, 3].map(async (n) => {
        const stdin = archiveOf(Object.fromEntries(names(n).map((name) => [name, name])));
        return (await runCli(service(), ['import', tenant, '-'], { stdin })).error === undefined;
      }),
      ...names(1).flatMap((name, i) => [
        service().execute(cmd.create(`/${name}-beside`, name), { tenant }),
        service().execute(cmd.create(`/memories/d${i}`, 'a file where an import wants a directory'), {
          tenant,
        }),
        service().execute(cmd.delete(`/memories/d${i % 7}`), { tenant }),
      ]),
    ]);
    expect(outcomes).toContain(true);
    await assertInvariants(service());
  });

  it.runIf(kind === 'postgres')('an export is of one moment', async () => {
    const tenant = await tenantWith(service(), {
      '/memories/a': 'a',
      '/memories/b': 'b',
      '/memories/z/c': 'c',
    });
    const before = await rowsOf(service(), tenant);
    const exported: Exported[] = [];
    await new Transfer(service().database, unlimited).exportTo(tenant, async (each) => {
      if (exported.push(each) > 1) return;
      await service().execute(cmd.rename('/memories/z', '/memories/0'), { tenant });
      await service().execute(cmd.delete('/memories/b'), { tenant });
      await service().execute(cmd.create('/memories/y', 'y'), { tenant });
    });
    expect(exported.map(({ path }) => path).sort()).toStrictEqual([...before.keys()]);
  });

  it('an export whose reader goes away fails, and leaves neither a transaction nor half an archive', async () => {
    const tenant = await tenantWith(service(), files);
    const transfer = new Transfer(service().database, unlimited);
    const gone = Object.assign(new Error('the reader went away'), { code: 'EPIPE' });
    const output = new Writable({ write: (_chunk, _encoding, callback) => callback(gone) });
    await expect(writeTar(output, true, (add) => transfer.exportTo(tenant, add))).rejects.toBe(gone);

    const folder = await scratch();
    await writeFile(join(folder, 'old.tar'), 'the one before');
    const full = await runCli(service(), ['export', tenant, '--output', '/dev/full']);
    expect(full.error).toBe(
      'The archive could not be written to its end (ENOSPC). Do not use what there is of it.',
    );
    const missing = await runCli(service(), [
      'export',
      tenant,
      '--output',
      join(folder, 'missing', 'new.tar'),
    ]);
    expect(missing.error).toContain('ENOENT');
    expect(await readdir(folder)).toStrictEqual(['old.tar']);
    expect(service().database.pool().waiting).toBe(0);
    expect((await service().execute(cmd.view('/memories/a/x'), { tenant })).is_error).toBe(false);
  });

  it('an export waits for its reader', async () => {
    const tenant = await tenantWith(service(), files);
    const output = new PassThrough({ highWaterMark: 1024 });
    let added = 0;
    const done = writeTar(output, true, (add) =>
      new Transfer(service().database, unlimited).exportTo(tenant, async (each) => {
        await add(each);
        added++;
      }),
    );
    // Nothing is read: what is ahead of the reader stays within the buffers, which the large file alone exceeds.
    while (!output.writableNeedDrain) await new Promise(setImmediate);
    for (let turn = 0; turn < 1000; turn++) await new Promise(setImmediate);
    const total = Object.keys(files).length;
    expect(added).toBeLessThan(total);
    output.resume();
    await done;
    expect(added).toBeGreaterThan(total);
  });
});
