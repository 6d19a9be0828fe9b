import { once } from 'node:events';
import { Agent, request } from 'node:http';
import { type AddressInfo, createServer } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { post, startCli, startServer } from '../support/process.ts';
import { cmd } from '../support/step-table.ts';
import { connectTo, copyPgliteTemplate, createTestDatabase, lockWait } from '../support/test-database.ts';

let database: Awaited<ReturnType<typeof createTestDatabase>>;

beforeAll(async () => {
  database = await createTestDatabase();
});
afterAll(async () => {
  await database.drop();
});

describe("the service's start", () => {
  it('names every invalid environment variable and exits with 1', async () => {
    const cli = startCli(['serve'], {
      PORT: 'http',
      MAX_FILE_BYTES: '-1',
      DATABASE_URL: 'mysql://u:secret@h/d',
    });
    expect(await cli.exit).toBe(1);
    expect(cli.output()).toBe(
      [
        'memory-service: The configuration is not valid:',
        '  PORT must be a whole number',
        '  DATABASE_URL must be a URL like postgres://user:password@host:5432/database',
        '  MAX_FILE_BYTES must be a size such as 10MB, or a whole number of bytes',
      ].join('\n'),
    );
  });

  it('names an unreachable database without its password and exits with 1', { tags: 'long' }, async () => {
    const cli = startCli(['serve'], {
      AUTH: 'none',
      DATABASE_URL: 'postgres://ada:secret@127.0.0.1:1/memory',
      DB_START_TIMEOUT_MS: '0',
    });
    expect(await cli.exit).toBe(1);
    expect(cli.output()).toBe(
      'memory-service: The database at 127.0.0.1:1/memory cannot be used: nothing listens there; check DATABASE_URL, and that the server runs.',
    );
  });

  it('reports an unreachable database only once during all retries', { tags: 'long' }, async () => {
    const cli = startCli(['serve'], {
      AUTH: 'none',
      DATABASE_URL: 'postgres://ada:secret@127.0.0.1:1/memory',
      DB_START_TIMEOUT_MS: '1500',
    });
    const fault =
      'The database at 127.0.0.1:1/memory cannot be used: nothing listens there; check DATABASE_URL, and that the server runs.';
    expect(await cli.exit).toBe(1);
    const lines = cli.output().split('\n');
    expect(lines.filter((line) => line.includes(`"msg":"${fault} Trying again."`))).toHaveLength(1);
    expect(lines).toContain(`memory-service: ${fault}`);
  });

  it('reports during the wait that the database has not responded yet', { tags: 'long' }, async () => {
    const silent = createServer(() => {}).listen(0, '127.0.0.1');
    await once(silent, 'listening');
    const { port } = silent.address() as AddressInfo;
    const cli = startCli(['usage'], {
      DATABASE_URL: `postgres://ada:secret@127.0.0.1:${port}/memory`,
      DB_CONNECT_TIMEOUT_MS: '60000',
    });
    await cli.line(
      new RegExp(
        `^Waiting for the database at 127\\.0\\.0\\.1:${port}/memory, which has not responded yet\\.$`,
      ),
    );
    cli.child.kill('SIGKILL');
    await cli.exit;
    silent.close();
  });

  it('explains an unknown host, a missing database, or an unavailable address in one line', {
    tags: 'long',
  }, async () => {
    const missing = new URL(database.url);
    missing.pathname = '/missing';
    const [host, absent, address] = await Promise.all(
      [
        { DATABASE_URL: 'postgres://ada:secret@no-such-host.invalid/memory', DB_START_TIMEOUT_MS: '0' },
        { DATABASE_URL: missing.href },
        // Hides the warning about missing keys.
        { DATABASE_URL: database.url, HOST: '192.0.2.1', LOG_LEVEL: 'error' },
      ].map(async (env) => {
        const cli = startCli(['serve'], { AUTH: 'keys', PORT: '0', ...env });
        expect(await cli.exit).toBe(1);
        return cli.output();
      }),
    );
    expect(host).toBe(
      'memory-service: The database at no-such-host.invalid:5432/memory cannot be used: the host name does not resolve to an address; check DATABASE_URL.',
    );
    expect(absent).toBe(
      `memory-service: The database at ${missing.host}/missing cannot be used: there is no such database on the server; create it, or check DATABASE_URL.`,
    );
    expect(address).toBe(
      'memory-service: Cannot listen on 192.0.2.1:0: no network interface of this machine has the address; set HOST to an address of this machine, such as 127.0.0.1.',
    );
  });

  it('migrates a database that two processes migrate at the same time', { tags: 'long' }, async () => {
    const empty = await createTestDatabase({ migrated: false });
    const env = { AUTH: 'none', DATABASE_URL: empty.url };
    const both = [startCli(['migrate'], env), startCli(['migrate'], env)];
    expect(await Promise.all(both.map((cli) => cli.exit))).toStrictEqual([0, 0]);
    for (const cli of both) {
      expect(cli.output()).toMatch(/^The database at .* is up to date\.$/);
    }
    await empty.drop();
  });

  it('compresses file contents with LZ4 if the database server supports it', async () => {
    const client = await connectTo(database.url);
    const { rows } = await client.query(`
      SELECT 'lz4' = ANY (enumvals) AS can, attcompression = 'l' AS does FROM pg_settings, pg_attribute
      WHERE name = 'default_toast_compression' AND attrelid = 'entries'::regclass AND attname = 'content'`);
    await client.end();
    expect(rows).toHaveLength(1);
    expect(rows[0].does).toBe(rows[0].can);
  });
});

describe('the embedded database', () => {
  it('warns about the embedded database, keeps data after kill -9, and admits one process at a time', {
    tags: 'long',
  }, async () => {
    const env = { DATA_DIR: await copyPgliteTemplate() };
    const first = await startServer(env);
    await first.line(/embedded database, for evaluation and for one small worker/);
    expect((await post(first.url, cmd.create('/memories/kept', 'text'))).content).toBe(
      'File created successfully at: /memories/kept',
    );

    const second = startCli(['serve'], { AUTH: 'none', PORT: '0', ...env });
    expect(await second.exit).toBe(1);
    expect(second.output()).toContain(
      `memory-service: The data directory ${env.DATA_DIR} is in use by process ${first.child.pid} on host `,
    );

    first.child.kill('SIGKILL');
    await first.exit;
    const third = await startServer(env);
    expect((await post(third.url, cmd.view('/memories/kept'))).content).toBe(
      "Here's the content of /memories/kept with line numbers:\n     1\ttext",
    );
    third.child.kill('SIGTERM');
    expect(await third.exit).toBe(0);
    expect(third.output()).toContain('"msg":"stopped"');
  });
});

/** Sends a request like `post`, but on one of the agent's connections. */
async function postBy(agent: Agent, url: string, input: object): Promise<{ content: string }> {
  const sent = request(`${url}/execute`, {
    agent,
    method: 'POST',
    headers: { 'content-type': 'application/json' },
  });
  sent.end(JSON.stringify(input));
  const [response] = await once(sent, 'response');
  return JSON.parse(Buffer.concat(await response.toArray()).toString());
}

describe("the service's stop", () => {
  /** Locks the tenant's row, so that a write to the tenant is in flight until the lock is released. */
  async function holdTenant() {
    const client = await connectTo(database.url);
    await client.query(`INSERT INTO tenants (id) VALUES ('default') ON CONFLICT DO NOTHING`);
    await client.query('BEGIN');
    await client.query(`SELECT 1 FROM tenants WHERE id = 'default' FOR UPDATE`);
    return { waiting: () => lockWait(database.url), release: () => client.end() };
  }

  it('becomes unready on SIGTERM, finishes the request in flight, and exits with 0', async () => {
    const server = await startServer({
      DATABASE_URL: database.url,
      SHUTDOWN_DELAY_MS: '300',
      DB_LOCK_TIMEOUT_MS: '0',
    });
    expect((await fetch(`${server.url}/readyz`)).status).toBe(200);
    const held = await holdTenant();
    // A keep-alive connection must not prevent the service from exiting.
    const agent = new Agent({ keepAlive: true });
    const running = postBy(agent, server.url, cmd.create('/memories/during-stop', 'x'));
    await held.waiting();
    server.child.kill('SIGTERM');
    await server.line(/"msg":"stopping"/);
    const ready = await fetch(`${server.url}/readyz`);
    expect([ready.status, ((await ready.json()) as { code: string }).code]).toStrictEqual([
      503,
      'shutting_down',
    ]);
    await held.release();
    expect((await running).content).toBe('File created successfully at: /memories/during-stop');
    expect(await server.exit).toBe(0);
    agent.destroy();
  });

  it('aborts a request that does not end within SHUTDOWN_TIMEOUT_MS and exits with 1', {
    tags: 'long',
  }, async () => {
    const server = await startServer({
      DATABASE_URL: database.url,
      SHUTDOWN_TIMEOUT_MS: '200',
      DB_LOCK_TIMEOUT_MS: '0',
    });
    const held = await holdTenant();
    const running = post(server.url, cmd.create('/memories/never', 'x')).catch(() => 'cut off');
    await held.waiting();
    server.child.kill('SIGTERM');
    expect(await server.exit).toBe(1);
    expect(await running).toBe('cut off');
    await held.release();
  });
});

describe("the service's log", () => {
  it('contains one line per request, without file contents or paths', async () => {
    const server = await startServer({ DATABASE_URL: database.url });
    await post(server.url, cmd.create('/memories/private-path', 'private-content'), {
      'x-tenant-id': 'log-tenant',
      'x-request-id': 'log-1',
    });
    await post(server.url, cmd.view('/memories/private-path\0'), { 'x-tenant-id': 'log-tenant' });
    const [line] = await server.line(/.*"reqId":"log-1".*/);
    expect(JSON.parse(line)).toMatchObject({
      level: 'info',
      reqId: 'log-1',
      tenant: 'log-tenant',
      command: 'create',
      outcome: 'ok',
      status: 200,
      durationMs: expect.any(Number),
    });
    server.child.kill('SIGTERM');
    await server.exit;
    expect(server.output()).not.toMatch(/private/);
    expect(server.output().match(/log-tenant/g)).toHaveLength(2);
  });

  it('contains a complete line for each request even if the service exits right after them', {
    tags: 'long',
  }, async () => {
    const server = await startServer({
      DATABASE_URL: database.url,
      MAX_IN_FLIGHT: '0',
      MAX_IN_FLIGHT_PER_TENANT: '0',
    });
    const ids = Array.from({ length: 200 }, (_, i) => `many-${i}`); // 50 KB of lines, which are written in chunks of 16 KB
    await Promise.all(ids.map((id) => post(server.url, cmd.view('/memories'), { 'x-request-id': id })));
    server.child.kill('SIGTERM');
    await server.exit;
    const lines = server
      .output()
      .split('\n')
      .filter((line) => line.includes('many-'));
    expect(lines.map((line) => JSON.parse(line).reqId).sort()).toEqual(ids.sort());
  });

  it('contains neither file contents nor paths at debug level', { tags: 'long' }, async () => {
    const server = await startServer({ DATABASE_URL: database.url, LOG_LEVEL: 'debug' });
    await post(server.url, cmd.create('/memories/private-path', 'private-content'), {
      'x-request-id': 'log-2',
    });
    await server.line(/"reqId":"log-2"/);
    server.child.kill('SIGTERM');
    await server.exit;
    expect(server.output()).not.toMatch(/private/);
  });
});
