/** The command line on an embedded database, as processes of their own: with and without a service that runs on it. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readdir, stat } from 'node:fs/promises';
import { connect } from 'node:net';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { loadConfig } from '../../src/config.ts';
import { DatabaseError } from '../../src/database/errors.ts';
import { serveLocalSocket } from '../../src/database/local-socket.ts';
import { openDatabase } from '../../src/database/open.ts';
import { parseQuery } from '../../src/database/query.ts';
import { connectToServedDatabase } from '../../src/database/served-database.ts';
import { Tenants } from '../../src/tenants/tenants.ts';
import { copyPgliteTemplate, createTestDatabase } from '../support/database.ts';
import { post, startCli, startServer } from '../support/process.ts';
import { cmd } from '../support/table.ts';

async function run(env: Record<string, string>, ...args: string[]) {
  const cli = startCli(args, env);
  return { code: await cli.exit, output: cli.output() };
}

describe('without a service', () => {
  it('a command makes no database where there is none', { tags: 'long' }, async () => {
    const folder = join(await mkdtemp(join(inject('scratch'), 'none-')), 'data');
    for (const args of [['tenants', 'create', 'acme'], ['migrate']]) {
      expect(await run({ DATA_DIR: folder }, ...args)).toStrictEqual({
        code: 1,
        output: `memory-service: There is no embedded database in ${folder}. Set DATABASE_URL, or DATA_DIR to the folder of the service. To create a database there, start the service: memory-service serve`,
      });
    }
    await expect(stat(folder)).rejects.toThrow('ENOENT');
  });

  it('prints only its result, and names the database that it migrates', { tags: 'long' }, async () => {
    const folder = await copyPgliteTemplate();
    expect(await run({ DATA_DIR: folder }, 'usage')).toStrictEqual({
      code: 0,
      output: 'TENANTS  FILES  SIZE  VERSIONS  HISTORY\n      0      0   0 B         0      0 B',
    });
    expect(await run({ DATA_DIR: folder }, 'migrate')).toStrictEqual({
      code: 0,
      output: `The embedded database in ${folder} is up to date.`,
    });
  });

  it('refuses a Postgres that was never migrated, and says what to do', async () => {
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

  it('a reader that has seen enough is no error', { tags: 'long' }, async () => {
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

describe('while a service runs', { tags: 'long' }, () => {
  let server: Awaited<ReturnType<typeof startServer>>;
  const env: Record<string, string> = {};
  beforeAll(async () => {
    env.DATA_DIR = await copyPgliteTemplate();
    server = await startServer(env);
  });
  afterAll(async () => {
    server.child.kill('SIGTERM');
    expect(await server.exit).toBe(0);
    expect(await readdir(env.DATA_DIR ?? '')).toStrictEqual(['memory-service.lock', 'pglite']);
  });

  it('its socket is for its own user', async () => {
    expect((await stat(join(env.DATA_DIR ?? '', 'memory-service.sock'))).mode & 0o777).toBe(0o600);
  });

  it('commands work on its database, and it sees what they did', async () => {
    expect((await run(env, 'tenants', 'create', 'acme', '--max-files', '1')).code).toBe(0);
    const headers = { 'x-tenant-id': 'acme' };
    // U+2028 ends a line for some readers of lines.
    const content = '\uFEFFa\u2028b\r\n"ü😀';
    expect((await post(server.url, cmd.create('/memories/a', content), headers)).is_error).toBe(false);
    expect((await post(server.url, cmd.create('/memories/b', ''), headers)).content).toContain('full');
    expect((await run(env, 'tenants', 'copy', 'acme', 'globex')).output).toMatch(
      /Copied tenant acme to globex/,
    );
    const other = { 'x-tenant-id': 'globex' };
    expect((await post(server.url, cmd.view('/memories/a'), other)).content).toContain(content.slice(0, 4));
    expect((await run(env, 'expire')).output).toContain('Deleted 0 files');
    expect((await run(env, 'tenants', 'create', 'acme')).code).toBe(1);
  });

  it('what is not of its protocol ends the connection, not the service', async () => {
    const socket = connect(join(env.DATA_DIR ?? '', 'memory-service.sock'));
    socket.write('GET / HTTP/1.1\r\n\r\n');
    await new Promise((resolve) => socket.on('close', resolve).resume());
    expect((await fetch(`${server.url}/readyz`)).status).toBe(200);
  });
});

describe('a served database', () => {
  const numbersQuery = parseQuery<Record<string, never>, { n: number }>('n', 'SELECT 1 AS n');
  const failingQuery = parseQuery<Record<string, never>>('f', 'SELECT 1/0');
  let folder: string;
  let owner: Awaited<ReturnType<typeof openDatabase>>;
  beforeAll(async () => {
    folder = await copyPgliteTemplate();
    owner = await openDatabase(loadConfig({ AUTH: 'none', DATA_DIR: folder }));
  });
  afterAll(() => owner.close());

  async function served(options: { idleMs: number } = { idleMs: 0 }) {
    const stop = await serveLocalSocket(folder, owner, options);
    const database = await connectToServedDatabase(folder);
    if (database === undefined) throw new Error('it is served');
    return { stop, database };
  }

  it('is undefined when nobody serves it', async () => {
    expect(await connectToServedDatabase(folder)).toBeUndefined();
  });

  it('answers in order, and names faults by their SQLSTATE only', async () => {
    const { stop, database } = await served();
    const results = await Promise.allSettled([
      database.query(numbersQuery, {}),
      database.query(failingQuery, {}),
      database.query(numbersQuery, {}),
    ]);
    expect(results).toMatchObject([
      { value: { rows: [{ n: 1 }] } },
      { reason: { name: 'DatabaseError', sqlState: '22012' } },
      { value: { rows: [{ n: 1 }] } },
    ]);
    await database.close();
    await stop();
  });

  it('keeps a transaction apart from the service’s own statements, and rolls it back when it fails', async () => {
    const { stop, database } = await served();
    const own = new Tenants(owner);
    let beside: Promise<boolean> | undefined;
    const failed = database.transaction(async (query) => {
      await query(parseQuery('i', `INSERT INTO tenants (id) VALUES ('rolled-back')`), {});
      // Waits for the transaction: were it a part of it, it would be rolled back as well.
      beside = own.create('beside');
      throw new Error('no more');
    });
    await expect(failed).rejects.toThrow('no more');
    expect(await beside).toBe(true);
    expect(await own.find('rolled-back')).toBeUndefined();
    expect(await own.find('beside')).toBeDefined();
    await database.close();
    await stop();
  });

  it('gives up on a command that leaves its transaction alone', async () => {
    const { stop, database } = await served({ idleMs: 50 });
    const left = database.transaction(async (query) => {
      await query(parseQuery('i', `INSERT INTO tenants (id) VALUES ('left-alone')`), {});
      // The service's own statement waits for the transaction's end.
      await owner.query(numbersQuery, {});
      await query(numbersQuery, {});
    });
    await expect(left).rejects.toThrow('The service rolled back this command');
    expect(await new Tenants(owner).find('left-alone')).toBeUndefined();
    await database.close();
    await stop();
  });

  it('lets one of them run a job at a time', async () => {
    const { stop, database } = await served();
    const ran = await owner.withJobLock(7, async () => {
      expect(await database.withJobLock(7, async () => {})).toBe(false);
    });
    expect(ran).toBe(true);
    expect(
      await database.withJobLock(7, async () => {
        expect(await owner.withJobLock(7, async () => {})).toBe(false);
      }),
    ).toBe(true);
    await database.close();
    await stop();
  });

  it('stops with commands connected, whose next statement fails', async () => {
    const { stop, database } = await served();
    const inTransaction = database.transaction(async (query) => {
      await query(parseQuery('i', `INSERT INTO tenants (id) VALUES ('cut-off')`), {});
      await stop();
      await query(numbersQuery, {});
    });
    await expect(inTransaction).rejects.toBeInstanceOf(DatabaseError);
    await expect(database.query(numbersQuery, {})).rejects.toBeInstanceOf(DatabaseError);
    expect(await new Tenants(owner).find('cut-off')).toBeUndefined();
    await database.close();
  });
});
