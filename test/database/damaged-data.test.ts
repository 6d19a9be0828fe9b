/** @module-tag long */
import { execFile, execFileSync } from 'node:child_process';
import { access, cp, mkdir, mkdtemp, rm, statfs, truncate, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, inject, it } from 'vitest';
import { post, startCli, startServer } from '../support/process.ts';
import { cmd } from '../support/step-table.ts';
import { copyPgliteTemplate } from '../support/test-database.ts';

const run = promisify(execFile);
const ADVICE =
  'Restore the directory from a backup, or set DATA_DIR to another directory to start with an empty database.';

async function openDamaged(damage: (directory: string) => Promise<void>) {
  const directory = join(await copyPgliteTemplate(), 'pglite');
  await damage(directory);
  const cli = startCli(['tenants', 'list'], { DATA_DIR: join(directory, '..') });
  return { directory, exit: await cli.exit, output: cli.output() };
}

it('rejects a data directory without PG_VERSION, and does not create a new database there', async () => {
  const { directory, exit, output } = await openDamaged((pglite) => rm(join(pglite, 'PG_VERSION')));
  expect(exit).toBe(1);
  expect(output).toBe(
    `memory-service: The embedded database in ${directory} cannot be opened: PG_VERSION is missing. ${ADVICE}`,
  );
  await expect(access(join(directory, 'PG_VERSION'))).rejects.toThrow();
});

it('reports in one line why Postgres cannot open a database', async () => {
  const [control, log] = await Promise.all([
    openDamaged((pglite) => rm(join(pglite, 'global', 'pg_control'))),
    openDamaged((pglite) => truncate(join(pglite, 'pg_wal', '000000010000000000000001'), 0)),
  ]);
  expect([control.exit, log.exit]).toStrictEqual([1, 1]);
  expect(control.output).toBe(
    `memory-service: The embedded database in ${control.directory} cannot be opened: could not open file "global/pg_control": No such file or directory. ${ADVICE}`,
  );
  expect(log.output).toMatch(
    /^memory-service: The embedded database in \S+ cannot be opened: could not locate a valid checkpoint record at [0-9A-F/]+\. Restore .*$/,
  );
});

function isInstalled(tool: string): boolean {
  try {
    execFileSync(tool, ['--version']);
    return true;
  } catch {
    return false;
  }
}

// A limit on the process's file size makes the write-ahead log fail like a full disk.
it.skipIf(!isInstalled('prlimit'))(
  'exits without losing a confirmed write if the write-ahead log cannot be written (needs prlimit)',
  async () => {
    const env = { DATA_DIR: await copyPgliteTemplate() };
    const server = await startServer(env);
    await post(server.url, cmd.create('/memories/acknowledged', 'text'));
    await run('prlimit', ['--pid', String(server.child.pid), '--fsize=65536']);
    expect(await post(server.url, cmd.create('/memories/rejected', 'text'))).toMatchObject({
      status: 503,
      code: 'database_unavailable',
    });
    expect(await server.exit).toBe(1);
    expect(server.output()).toContain('the embedded database has stopped. No acknowledged write is lost.');

    const again = await startServer(env);
    expect((await post(again.url, cmd.view('/memories/acknowledged'))).content).toContain('\ttext');
    again.child.kill('SIGTERM');
    expect(await again.exit).toBe(0);
  },
);

/** Mounts a small tmpfs. Returns undefined if that is not possible. */
async function mountDisk(mebibytes: number): Promise<string | undefined> {
  const disk = await mkdtemp(join(inject('scratch'), 'disk-'));
  const options = ['-t', 'tmpfs', '-o', `size=${mebibytes}m`, 'tmpfs', disk];
  return run('mount', options).then(
    () => disk,
    () => undefined,
  );
}

it('rejects writes with 503 while the disk is nearly full, but still serves reads', async (test) => {
  const disk = await mountDisk(200);
  if (disk === undefined) return test.skip('no tmpfs can be mounted here');
  try {
    const directory = join(disk, 'data');
    await cp(inject('pglite').template, directory, { recursive: true });
    const server = await startServer({ DATA_DIR: directory });
    await post(server.url, cmd.create('/memories/before', 'text'));

    const { bavail, bsize } = await statfs(disk);
    await writeFile(join(disk, 'ballast'), Buffer.alloc(bavail * bsize - 40 * 1024 * 1024));
    const rejected = await fetch(`${server.url}/execute`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(cmd.create('/memories/during', 'text')),
    });
    expect([rejected.status, rejected.headers.get('retry-after')]).toStrictEqual([503, '2']);
    expect(await rejected.json()).toMatchObject({ code: 'database_unavailable' });
    expect((await post(server.url, cmd.view('/memories/before'))).content).toContain('\ttext');
    await server.line(/the disk is nearly full: writes are rejected until there is room/);

    await rm(join(disk, 'ballast'));
    expect((await post(server.url, cmd.create('/memories/during', 'text'))).status).toBe(200);
    await server.line(/the disk has room again/);
    server.child.kill('SIGTERM');
    expect(await server.exit).toBe(0);
  } finally {
    await run('umount', [disk]);
  }
});

it('rejects a new database if the disk has too little space, and leaves only a lock file there', async (test) => {
  const disk = await mountDisk(20);
  if (disk === undefined) return test.skip('no tmpfs can be mounted here');
  try {
    await mkdir(join(disk, 'data'));
    const cli = startCli(['serve'], { DATA_DIR: join(disk, 'data') });
    expect(await cli.exit).toBe(1);
    expect(cli.output()).toMatch(
      /^memory-service: The embedded database in \S+ needs 128 MiB of free disk space, but only \d+ MiB are free\. Make room, or set DATA_DIR to a directory on another disk\.$/,
    );
    expect(await run('find', [disk, '-type', 'f'])).toMatchObject({
      stdout: `${join(disk, 'data/memory-service.lock')}\n`,
    });
  } finally {
    await run('umount', [disk]);
  }
});
