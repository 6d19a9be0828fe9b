/** @module-tag long */
import { execFileSync } from 'node:child_process';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { type CliProcess, startCli, startProcess, startServer } from '../support/process.ts';
import { copyPgliteTemplate } from '../support/test-database.ts';

const SERVE = ['--liftoff-only', 'dist/main.js', 'serve'];
const IN_USE = /^memory-service: The data directory \S+ is in use by (.*)\. Stop that process, /;

let DATA_DIR: string;
beforeEach(async () => {
  DATA_DIR = await copyPgliteTemplate();
});

async function startOwner() {
  const server = await startServer({ DATA_DIR });
  onTestFinished(() => void server.child.kill('SIGKILL'));
  return server;
}

async function expectRejection(process: CliProcess, user: unknown = expect.any(String)) {
  expect([await process.exit, IN_USE.exec(process.output())?.[1]]).toStrictEqual([1, user]);
}

/** `unshare` arguments for namespaces like in another container. Undefined if this user cannot create namespaces. */
const namespaces = [['--user', '--map-root-user'], []]
  .map((user) => [...user, '--pid', '--fork', '--mount-proc', '--net', '--uts', '--kill-child'])
  .find((args) => {
    try {
      execFileSync('unshare', [...args, 'true'], { stdio: 'ignore' });
      return true;
    } catch {
      return false;
    }
  });

describe('a data directory in use by a service', () => {
  it('rejects a second service, and names the process that uses the directory', async () => {
    const owner = await startOwner();
    const second = startCli(['serve'], { DATA_DIR });
    await expectRejection(
      second,
      expect.stringMatching(new RegExp(`^process ${owner.child.pid} on host \\S+$`)),
    );
  });

  it.skipIf(namespaces === undefined)(
    'rejects a second service even in another container (needs unshare)',
    async () => {
      await startOwner();
      const args = [...(namespaces ?? []), process.execPath, ...SERVE];
      await expectRejection(startProcess('unshare', args, { DATA_DIR }));
    },
  );

  it('rejects a second service even while the first is suspended', async () => {
    const owner = await startOwner();
    owner.child.kill('SIGSTOP');
    await expectRejection(startCli(['serve'], { DATA_DIR }));
  });

  it('rejects a second service even if the lock file of the first was deleted', async () => {
    await startOwner();
    await rm(join(DATA_DIR, 'memory-service.lock'));
    await expectRejection(startCli(['serve'], { DATA_DIR }), 'another process');
  });
});

it('starts only one service if several start at the same time after another was killed', async () => {
  const killed = await startOwner();
  killed.child.kill('SIGKILL');
  await killed.exit;
  const racers = Array.from({ length: 6 }, () => startCli(['serve'], { DATA_DIR, PORT: '0' }));
  onTestFinished(() => racers.forEach(({ child }) => void child.kill('SIGKILL')));
  const results = racers.map((racer) => racer.line(/(http:\/\/127\.0\.0\.1|is in use by process)/));
  const found = (await Promise.all(results)).map(([, result]) => result);
  const rejected = Array.from({ length: 5 }, () => 'is in use by process');
  expect(found.toSorted()).toStrictEqual(['http://127.0.0.1', ...rejected]);
});

it('starts a service after another was killed, even if its parent process has not reaped it', async () => {
  // `sleep` replaces the shell and never waits for its child.
  const script = `"$@" & echo "owner $!"; exec sleep 600`;
  const parent = startProcess('sh', ['-c', script, 'sh', process.execPath, ...SERVE], {
    DATA_DIR,
    PORT: '0',
  });
  onTestFinished(() => void parent.child.kill('SIGKILL'));
  const [, pid] = await parent.line(/^owner (\d+)$/);
  await parent.line(/http:\/\/127\.0\.0\.1:\d+/);
  process.kill(Number(pid), 'SIGKILL');
  await startOwner();
  // The process ID still exists.
  process.kill(Number(pid), 0);
});
