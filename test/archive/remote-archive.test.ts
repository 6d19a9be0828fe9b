/**
 * `export` and `import` through the admin API: the same output and exit codes as on the database, and no partial result
 * when the connection breaks.
 *
 * @module-tag long-on-pglite
 */
import { mkdir, readdir, readFile, utimes, writeFile } from 'node:fs/promises';
import { createServer, request, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { packTar } from '../../src/features/archive/tar.ts';
import { useAdmin } from '../support/admin.ts';
import { createArchive } from '../support/create-archive.ts';
import { runOn } from '../support/run-program.ts';
import { describeService } from '../support/test-service.ts';
import { FILES, readRows, scratchDirectory, tenantWith } from '../support/transfer-files.ts';

describeService('archives on the command line through the admin API', (service) => {
  const admin = useAdmin(service);
  let url: string;
  const servers: Server[] = [];
  beforeAll(async () => {
    url = await admin().app.listen({ port: 0, host: '127.0.0.1' });
  });
  afterAll(() => {
    for (const server of servers) server.close();
  });
  type Options = { stdin?: Buffer; env?: Record<string, string> };
  const runOnDatabase = (args: string[], options: Options = {}) => runOn(service(), args, options);
  const runRemotely = (args: string[], options: Options = {}, base = url) =>
    runOn(service(), args, { ...options, admin: { url: base, key: admin().key.key } });

  /** Starts a proxy that cuts each connection after some bytes of the response or the request. */
  async function cuttingProxy(limits: { request?: number; response?: number }): Promise<string> {
    const server = createServer((incoming, outgoing) => {
      const { method, url: path, headers } = incoming;
      const sent = request(new URL(path ?? '/', url), { method, headers }, (response) => {
        outgoing.writeHead(response.statusCode ?? 500, response.headers);
        cut(response, outgoing, limits.response);
      });
      sent.on('error', () => outgoing.destroy());
      cut(incoming, sent, limits.request);
    });
    function cut(from: NodeJS.ReadableStream, to: NodeJS.WritableStream, bytes = Infinity) {
      let left = bytes;
      from.on('data', (chunk: Buffer) => {
        to.write(chunk.subarray(0, left));
        left -= chunk.length;
        if (left < 0) for (const each of [from, to]) (each as unknown as { destroy(): void }).destroy();
      });
      from.on('end', () => to.end());
      from.on('error', () => {});
    }
    servers.push(server);
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  }

  it('exports the same bytes through the admin API as directly from the database', async () => {
    const tenant = await tenantWith(service(), { ...FILES, '/memories/.git/config': '[core]' });
    const directory = await scratchDirectory();
    const results = [];
    for (const [name, run] of [
      ['local.tar', runOnDatabase],
      ['remote.tar', runRemotely],
    ] as const) {
      const file = join(directory, name);
      const done = [
        await run(['export', tenant, '--output', file]),
        await run(['export', tenant, '--output', file]),
        await run(['export', tenant, '--output', file, '--history', '--json', '--force']),
        await run(['export', tenant]),
        await run(['export', 'no-such-tenant', '--output', join(directory, 'other')]),
        await run(['export', tenant, '--output', '/dev/full']),
      ];
      results.push(
        JSON.stringify([done, (await readFile(file)).toString('latin1')]).replaceAll(file, '{file}'),
      );
      expect(done[0]?.stderr).toMatch(
        /^Warning: the archive contains \/memories\/\.git\/config.*\nExported 15 files /,
      );
    }
    expect(results[1] === results[0]).toBe(true);
    expect((await readdir(directory)).sort()).toStrictEqual(['local.tar', 'remote.tar']);
  });

  it('imports an archive or a directory with the same result as directly on the database', async () => {
    const tenant = await tenantWith(service(), FILES);
    const directory = await scratchDirectory();
    const file = join(directory, 'memory.tar');
    await runOnDatabase(['export', tenant, '--history', '--output', file]);
    await mkdir(join(directory, 'data/memories/d'), { recursive: true });
    await mkdir(join(directory, 'data/memories/empty'));
    await writeFile(join(directory, 'data/memories/d/a'), 'AKIAIOSFODNN7EXAMPLE\n'.repeat(10_000));
    await writeFile(join(directory, `data/memories/${'n'.repeat(250)}`), '');
    await utimes(join(directory, 'data/memories/d/a'), 1_700_000_000.123, 1_700_000_000.123);
    const stdin = await readFile(file);
    for (const [args, options] of [
      [[file, '--dry-run'], {}],
      [[file], {}],
      [[file], {}],
      [
        ['-', '--into', '/memories/copy', '--strip', '1'],
        { stdin: createArchive({ 'memories/\u2028x': 'y' }) },
      ],
      [['-'], { stdin }],
      [['-'], { stdin: stdin.subarray(0, 5000) }],
      [['-'], { stdin: Buffer.from('no archive') }],
      [[join(directory, 'data')], { env: { SECRETS: 'mask' } }],
      [[join(directory, 'data/memories/d'), '--into', '/memories/more', '--dry-run'], {}],
      [[join(directory, 'none')], {}],
      [[directory], {}],
    ] as [string[], Options][]) {
      // One tenant for each access path, in the same state.
      const [local, remote] = [await localTenant(), await remoteTenant()];
      const run = async (id: string, way: typeof runOnDatabase) => {
        const result = await way(['import', id, ...args], options);
        return JSON.stringify(result).replaceAll(id, '{tenant}');
      };
      expect([args, await run(remote, runRemotely)]).toStrictEqual([args, await run(local, runOnDatabase)]);
      expect(await readRows(service(), remote)).toStrictEqual(await readRows(service(), local));
    }
    expect((await runRemotely(['import', 'no-such-tenant', file])).stderr).toBe(
      'memory-service: Tenant no-such-tenant does not exist. See: memory-service tenants list, or create it: memory-service tenants create no-such-tenant\nNothing was imported.\n',
    );
  });
  const tenants: Record<string, string> = {};
  const localTenant = async () => (tenants.local ??= await tenantWith(service()));
  const remoteTenant = async () => (tenants.remote ??= await tenantWith(service()));

  it('leaves no file and no output when the connection breaks during an export', async () => {
    const tenant = await tenantWith(service(), FILES);
    const directory = await scratchDirectory();
    const proxy = await cuttingProxy({ response: 300_000 });
    const error = `memory-service: The connection to the admin API at ${proxy} was lost during the response.\n`;
    await writeFile(join(directory, 'old.tar'), 'the one before');
    for (const args of [
      ['--output', join(directory, 'new.tar')],
      ['--output', join(directory, 'old.tar'), '--force'],
      [],
    ]) {
      expect(await runRemotely(['export', tenant, ...args], {}, proxy)).toStrictEqual({
        code: 1,
        stdout: '',
        stderr: error,
      });
    }
    expect(await readdir(directory)).toStrictEqual(['old.tar']);
    expect(await readFile(join(directory, 'old.tar'), 'utf8')).toBe('the one before');
  });

  it('imports no file when the connection breaks during an import', async () => {
    const tenant = await tenantWith(service());
    const stdin = createArchive({ 'memories/a': 'x'.repeat(500_000), 'memories/b': 'x'.repeat(500_000) });
    const proxy = await cuttingProxy({ request: 700_000 });
    const { code, stdout, stderr } = await runRemotely(['import', tenant, '-'], { stdin }, proxy);
    expect([code, stdout]).toStrictEqual([1, '']);
    expect(stderr).toMatch(
      /^memory-service: The (connection to the )?admin API at .* (was lost|cannot be reached)/i,
    );
    expect(await readRows(service(), tenant)).toStrictEqual(new Map());
  });

  it('reports a file that changes while its directory is packed', async () => {
    async function* entries() {
      async function* content() {
        yield Buffer.from('longer than before');
      }
      yield { name: 'memories/a', kind: 'file' as const, bytes: 3, modified: new Date(), content: content() };
    }
    await expect(buffer(packTar(entries()))).rejects.toThrow(
      'Cannot read memories/a (it changed while it was read).',
    );
  });
});
