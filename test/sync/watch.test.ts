/** Watching a directory and a memory. */
import { mkdir, mkdtemp, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { LocalChanges, type RemoteChanges, runAfterChanges } from '../../src/features/sync/cli/watch.ts';
import { type CliProcess, startCli } from '../support/process.ts';
import { cmd } from '../support/step-table.ts';
import { Agent, Device } from '../support/sync-device.ts';
import { createTestDatabase } from '../support/test-database.ts';
import { freshTenant, type Service, startService } from '../support/test-service.ts';

let root: string;
beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), 'sync-'));
});
afterAll(() => rm(root, { recursive: true }));

describe('runAfterChanges', () => {
  it('runs a task after a local change, and after a change to the memory', async () => {
    const directory = join(root, 'directory');
    await mkdir(join(directory, '.memory-service'), { recursive: true });
    const stop = new AbortController();
    let change = () => {};
    const known: (string | null)[] = [];
    const remote: RemoteChanges = {
      wait: (changedAt) => {
        known.push(changedAt);
        return new Promise((resolve) => {
          change = resolve;
        });
      },
    };
    let runs = 0;
    const local = new LocalChanges(directory, () => {});
    const running = runAfterChanges(async () => `change ${++runs}`, local, remote, {
      signal: stop.signal,
      onFailure: () => {},
    });
    await expect.poll(() => runs).toBe(1);
    await writeFile(join(directory, 'a.md'), 'a\n');
    await expect.poll(() => runs).toBe(2);
    change();
    await expect.poll(() => runs).toBe(3);
    expect(known).toStrictEqual(['change 1', 'change 2', 'change 3']);
    stop.abort();
    await running;
    local.close();
  });
});

describe('the command sync', { tags: 'long' }, () => {
  let service: Service;
  let database: Awaited<ReturnType<typeof createTestDatabase>>;
  let tenant: string;
  let device: Device;
  let agent: Agent;
  beforeAll(async () => {
    database = await createTestDatabase();
    service = await startService('postgres', { DATABASE_URL: database.url });
  });
  afterAll(async () => {
    await service.close();
    await database.drop();
  });
  beforeEach(async () => {
    tenant = freshTenant('sync');
    device = new Device(join(root, tenant), 'laptop');
    agent = new Agent(service, tenant);
    await service.execute(cmd.create('/memories/first.md', 'first\n'), { tenant });
  });
  const start = (...args: string[]): CliProcess =>
    startCli(['sync', tenant, device.directory, ...args], { DATABASE_URL: database.url });

  it('synchronizes each change while it watches, until it is interrupted', async () => {
    const watching = start('--watch');
    await watching.line(/^local: create first\.md$/);
    await device.put('notes/a.md', 'one\n');
    await watching.line(/^memory: create notes\/a\.md$/);
    await agent.put('notes/a.md', 'two\n');
    await watching.line(/^local: update notes\/a\.md$/);
    await rename(join(device.directory, 'notes'), join(device.directory, 'people'));
    await watching.line(/^memory: rename notes\/a\.md to people\/a\.md$/);
    await device.delete('people/a.md');
    await watching.line(/^memory: delete people\/a\.md$/);
    const other = start();
    expect(await other.exit).toBe(1);
    expect(other.output()).toBe(`memory-service: Another process is synchronizing ${device.directory}.`);
    await rename(device.directory, `${device.directory}-moved`);
    await mkdir(device.directory);
    await agent.put('second.md', 'second\n');
    await watching.line(/ is not available, or has lost its state\.$/);
    expect(await device.files()).toStrictEqual({});
    await rm(device.directory, { recursive: true });
    await rename(`${device.directory}-moved`, device.directory);
    await watching.line(/^local: create second\.md$/);
    watching.child.kill('SIGINT');
    expect(await watching.exit).toBe(0);
    const files = { 'first.md': 'first\n', 'second.md': 'second\n' };
    expect(await device.files()).toStrictEqual(files);
    expect(await agent.files()).toStrictEqual(files);
  });

  it('loses no file if it is killed repeatedly', async () => {
    const expected: Record<string, string> = { 'first.md': 'first\n' };
    const put = async (editor: Agent | Device, name: string) => {
      expected[name] = `${name}\n`;
      await editor.put(name, `${name}\n`);
    };
    for (let i = 0; i < 200; i++) await put(i % 2 === 0 ? device : agent, `d${i % 7}/f${i}.md`);
    for (let i = 0; i < 200; i += 25) {
      const killed = start();
      await killed.line(new RegExp(`^(memory|local): create d\\d/f${i + 1}\\.md$`)).catch(() => {});
      killed.child.kill('SIGKILL');
      await killed.exit;
      await put(device, `g/f${i}.md`);
    }
    expect(await start().exit).toBe(0);
    expect(await device.files()).toStrictEqual(expected);
    expect(await agent.files()).toStrictEqual(expected);
  });
});
