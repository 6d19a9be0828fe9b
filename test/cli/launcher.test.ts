import { mkdtemp, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { startProcess } from '../support/process.ts';
import { createTestDatabase } from '../support/test-database.ts';

const launcher = fileURLToPath(new URL('../../bin/memory-service', import.meta.url));
/** Reports the V8 flags in every Node.js process, including npm. */
const report = `data:text/javascript,
  import { getHeapStatistics } from 'node:v8';
  if (process.argv[1].endsWith('/dist/main.js')) console.error('started ' + JSON.stringify({
    pid: process.pid, flags: process.execArgv, heapMiB: getHeapStatistics().heap_size_limit >> 20,
  }));`.replaceAll(/\s+/g, '%20');
const reportOption = `--import=${report}`;

interface Started {
  pid: number;
  flags: string[];
  heapMiB: number;
}

async function readReport(line: Promise<RegExpExecArray>): Promise<Started> {
  const [, json] = await line;
  return JSON.parse(json ?? '') as Started;
}

/** Starts a service with an invalid configuration and returns its start options. */
async function startInVain(command: string, args: string[], nodeOptions = ''): Promise<Started> {
  const cli = startProcess(command, args, {
    PORT: 'http',
    NODE_OPTIONS: `${nodeOptions} ${reportOption}`,
    npm_config_update_notifier: 'false',
  });
  const started = await readReport(cli.line(/^started (.*)/));
  expect(await cli.exit).toBe(1);
  expect(cli.output()).toContain('memory-service: The configuration is not valid:\n  PORT must be');
  return started;
}

describe('bin/memory-service', () => {
  const check = fileURLToPath(new URL('../../bin/check-node.cjs', import.meta.url));
  const flags = ['--no-memory-reducer', '--no-allocation-site-pretenuring', '--require', check];
  // 1000 MiB for old objects and three semi-spaces of 8 MiB.
  const tuned = { flags, heapMiB: 1024 };

  it('passes the same Node.js flags whether it is started directly, by a link, by npm, or by npx', {
    tags: 'long',
  }, async () => {
    const link = join(await mkdtemp(join(inject('scratch'), 'launcher-')), 'memory-service');
    await symlink(launcher, link);
    expect(await startInVain(launcher, ['serve'])).toMatchObject(tuned);
    expect(await startInVain(link, ['serve'])).toMatchObject(tuned);
    // Skips prestart, which would compile the service while other tests run it.
    expect(await startInVain('npm', ['start', '--ignore-scripts'])).toMatchObject(tuned);
    expect(await startInVain('npx', ['--no-install', 'memory-service', 'serve'])).toMatchObject(tuned);
  });

  it('allows NODE_OPTIONS to change the heap size', { tags: 'long' }, async () => {
    const { heapMiB } = await startInVain(launcher, ['serve'], '--max-old-space-size=300');
    expect(heapMiB).toBe(324);
  });

  it('runs bin/memory-service from any directory', async () => {
    const cli = startProcess('sh', ['-c', `cd ${tmpdir()} && exec ${launcher} --version`], {});
    expect(await cli.exit).toBe(0);
    expect(cli.output()).toMatch(/^\d+\.\d+\.\d+$/);
  });

  describe('bin/memory-service with a database', () => {
    let database: Awaited<ReturnType<typeof createTestDatabase>>;
    beforeAll(async () => {
      database = await createTestDatabase();
    });
    afterAll(async () => {
      await database.drop();
    });

    it('replaces itself with the service process, so that signals reach the service', {
      tags: 'long',
    }, async () => {
      const env = { PORT: '0', DATABASE_URL: database.url, NODE_OPTIONS: reportOption };
      const server = startProcess(launcher, ['serve'], env);
      const { pid } = await readReport(server.line(/^started (.*)/));
      expect(pid).toBe(server.child.pid);
      await server.line(/http:\/\/127\.0\.0\.1:\d+/);
      server.child.kill('SIGTERM');
      expect(await server.exit).toBe(0);
      expect(server.output()).toContain('"msg":"stopped"');
    });

    it.each(['SIGTERM', 'SIGKILL'] as const)(
      'stops the service if npx started it and ends after %s',
      { tags: 'long' },
      async (signal) => {
        const env = { PORT: '0', DATABASE_URL: database.url, npm_config_update_notifier: 'false' };
        const npx = startProcess('npx', ['--no-install', 'memory-service', 'serve'], env);
        await npx.line(/http:\/\/127\.0\.0\.1:\d+/);
        npx.child.kill(signal);
        // The output ends with the service, which inherited the stream.
        await npx.exit;
        expect(npx.output()).toContain('"msg":"npx has ended, so the service stops"');
        expect(npx.output()).toContain('"msg":"stopped"');
      },
    );
  });
});
