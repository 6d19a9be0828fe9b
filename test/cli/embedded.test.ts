/** The command line on an embedded database as separate processes, with and without a running service. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, readdir, rename, stat, writeFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { hostname, userInfo } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { post, startCli, startServer } from '../support/process.ts';
import { cmd } from '../support/step-table.ts';
import { copyPgliteTemplate, createTestDatabase } from '../support/test-database.ts';

async function run(env: Record<string, string>, ...args: string[]) {
  const cli = startCli(args, env);
  return { code: await cli.exit, output: cli.output() };
}

describe('the command line without a service', () => {
  it('reports that the database is missing, and does not create it', { tags: 'long' }, async () => {
    const directory = join(await mkdtemp(join(inject('scratch'), 'none-')), 'data');
    for (const args of [['tenants', 'create', 'acme'], ['migrate']]) {
      expect(await run({ DATA_DIR: directory }, ...args)).toStrictEqual({
        code: 1,
        output: `memory-service: There is no embedded database in ${directory}. Set DATABASE_URL, or DATA_DIR to the directory of the service. To create a database there, start the service: memory-service serve`,
      });
    }
    await expect(stat(directory)).rejects.toThrow('ENOENT');
  });

  it("prints only the command's result, and names the database for `migrate`", {
    tags: 'long',
  }, async () => {
    const directory = await copyPgliteTemplate();
    expect(await run({ DATA_DIR: directory }, 'usage')).toStrictEqual({
      code: 0,
      output: 'TENANTS  FILES  SIZE  VERSIONS  HISTORY\n      0      0   0 B         0      0 B',
    });
    expect(await run({ DATA_DIR: directory }, 'migrate')).toStrictEqual({
      code: 0,
      output: `The embedded database in ${directory} is up to date.`,
    });
  });

  it('rejects a Postgres database that is not migrated, and says how to migrate it', async () => {
    const own = await createTestDatabase({ migrated: false });
    const { code, output } = await run({ DATABASE_URL: own.url }, 'tenants', 'create', 'acme');
    expect([code, output]).toStrictEqual([
      1,
      expect.stringMatching(
        /^(?:Waiting .*\n)?memory-service: The database at .* is not set up for this version\. Run memory-service migrate, or start the service\.$/,
      ),
    ]);
    await own.drop();
  });

  it('ends without an error if nobody reads the output', { tags: 'long' }, async () => {
    const child = spawn(process.execPath, ['dist/main.js', 'tenants', 'list', '--json'], {
      env: { PATH: process.env.PATH, DATA_DIR: await copyPgliteTemplate() },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    child.stdout.destroy();
    const [stderr, [code]] = await Promise.all([text(child.stderr), once(child, 'close')]);
    expect(stderr).toBe('');
    expect(code).toBe(0);
  });
});

describe('the command line while a service runs', { tags: 'long' }, () => {
  let server: Awaited<ReturnType<typeof startServer>>;
  const env: Record<string, string> = {};
  let scratch: string;
  beforeAll(async () => {
    scratch = await mkdtemp(join(inject('scratch'), 'served-'));
    env.DATA_DIR = await copyPgliteTemplate();
    server = await startServer({ ...env, AUTH: 'keys' });
  });
  afterAll(async () => {
    server.child.kill('SIGTERM');
    expect(await server.exit).toBe(0);
    expect(await readdir(env.DATA_DIR ?? '')).toStrictEqual(['memory-service.lock', 'pglite']);
  });

  it('creates a socket that only its own user can access', async () => {
    expect((await stat(join(env.DATA_DIR ?? '', 'memory-service.sock'))).mode & 0o777).toBe(0o600);
  });

  /** Runs a command that must succeed. */
  const done = async (...args: string[]) => {
    const { code, output } = await run(env, ...args);
    expect([args, code, output]).toStrictEqual([args, 0, expect.any(String)]);
    return output;
  };

  it("runs every command through the service's socket, with the operator as the actor", async () => {
    await done('tenants', 'create', 'acme', '--max-files', '3');
    const key = (await done('keys', 'create', '--tenant', 'acme')).split('\n').at(-1);
    const headers = { authorization: `Bearer ${key}` };
    // Some line readers end a line at U+2028.
    const content = '\uFEFFa\u2028b\r\n"ü😀';
    expect((await post(server.url, cmd.create('/memories/a', content), headers)).is_error).toBe(false);
    const source = join(scratch, 'source');
    await writeFile(source, 'one');
    await done('put', 'acme', '/memories/b', source);
    expect(await done('cat', 'acme', '/memories/b')).toBe('one');
    expect(await done('search', 'acme', 'one')).toContain('/memories/b');
    expect(await done('ls', 'acme')).toContain('/memories/a');
    const archive = join(scratch, 'acme.tar');
    expect(await done('export', 'acme', '--history', '--output', archive)).toContain('Exported 2 files');
    await done('tenants', 'create', 'globex');
    expect(await done('import', 'globex', archive)).toMatch(/^Imported 2 files .*, with 2 versions\.$/);
    await mkdir(join(scratch, 'directory/memories'), { recursive: true });
    await writeFile(join(scratch, 'directory/memories/c'), '');
    expect(await done('import', 'acme', join(scratch, 'directory'))).toContain('Imported 1 file');
    expect((await post(server.url, cmd.create('/memories/d', ''), headers)).content).toContain('full');
    expect(await done('log', 'acme', '--by', userInfo().username)).toContain('/memories/b');
    await done('revert', 'acme', '--by', 'operator', '--since', '1h');
    expect(await done('ls', 'acme')).not.toContain('/memories/b');
    expect(await done('history', 'prune', 'acme')).toContain('Deleted 0 versions');
    expect(await done('expire')).toContain('Deleted 0 files');
    expect(await done('drafts', 'list', 'acme', '--json')).toBe('[]');
    expect(await done('tenants', 'copy', 'acme', 'initech')).toMatch(/^Copied tenant acme to initech/);
    expect(await done('tenants', 'list')).toContain('initech');
    expect(await done('usage', 'globex')).toContain('globex');
    expect(await done('migrate')).toBe(`The embedded database in ${env.DATA_DIR} is up to date.`);
    const events = (await done('audit', '--tenant', 'acme', '--json'))
      .split('\n')
      .map((line) => JSON.parse(line));
    expect(events).toHaveLength(7);
    for (const event of events) {
      expect(event).toMatchObject({
        actor: { type: 'operator', name: userInfo().username },
        channel: 'command_line',
        address: hostname(),
        outcome: 'ok',
      });
    }
    expect(await run(env, 'tenants', 'create', 'acme')).toStrictEqual({
      code: 1,
      output: expect.stringContaining('acme already exists'),
    });
  });

  it('rejects a second service and `migrate-data` for a data directory that the service uses', async () => {
    const second = await run({ ...env, PORT: '0', AUTH: 'none' }, 'serve');
    expect(second.code).toBe(1);
    expect(second.output).toContain(`is in use by process ${server.child.pid}`);
    expect(await run({ ...env, DATABASE_URL: 'postgres://localhost/none' }, 'migrate-data')).toMatchObject({
      code: 1,
      output: expect.stringContaining('Stop the service first'),
    });
  });

  it('keeps running if a connection to the socket does not speak HTTP', async () => {
    const socket = connect(join(env.DATA_DIR ?? '', 'memory-service.sock'));
    socket.write('{"do":"begin","snapshot":true}\n');
    await new Promise((resolve) => socket.on('close', resolve).resume());
    expect((await fetch(`${server.url}/readyz`)).status).toBe(200);
  });
});

describe('the socket in a data directory', { tags: 'long' }, () => {
  it('uses the socket only if a service listens on it, and replaces a socket that a killed service left', async () => {
    const directory = await copyPgliteTemplate();
    const env = { DATA_DIR: directory };
    const killed = await startServer(env);
    killed.child.kill('SIGKILL');
    await killed.exit;
    expect(await readdir(directory)).toContain('memory-service.sock');
    expect(await run(env, 'tenants', 'list', '--json')).toStrictEqual({ code: 0, output: '[]' });
    const server = await startServer(env);
    expect(await run(env, 'tenants', 'list', '--json')).toStrictEqual({ code: 0, output: '[]' });
    // A command from another version finds the service, too.
    server.child.kill('SIGTERM');
    expect(await server.exit).toBe(0);
  });

  it("explains that commands cannot reach the service if the socket's path is too long", async () => {
    const template = await copyPgliteTemplate();
    const directory = join(template, 'x'.repeat(100));
    await mkdir(directory);
    await rename(join(template, 'pglite'), join(directory, 'pglite'));
    const server = await startServer({ DATA_DIR: directory });
    await server.line(/no socket in DATA_DIR: until this process stops, commands need --url/);
    const { code, output } = await run({ DATA_DIR: directory }, 'tenants', 'list');
    expect(code).toBe(1);
    expect(output).toContain(`is in use by process ${server.child.pid}`);
    expect(output).toMatch(/That process takes no commands, because the path of its socket has \d+ bytes/);
    server.child.kill('SIGTERM');
    expect(await server.exit).toBe(0);
  });
});
