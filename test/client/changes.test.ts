/**
 * The TypeScript client's changes, and the examples that follow them, against the service on a socket, with breaks.
 *
 * @module-tag long
 */
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { connect, createServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { type ChangesOptions, MemoryClient } from 'memory-service-client';
import { expect, it } from 'vitest';
import { Keys } from '../../src/core/tenants/keys.ts';
import { useAgentFixture } from './agent-fixture.ts';

const fixture = useAgentFixture({ AUTH_CACHE_SECONDS: '1' });
const SILENT = { warn: () => {}, debug: () => {} };
const A = '/memories/a.md';
const B = '/memories/b.md';

/** Returns a client, and functions that write with it. */
async function createWriter() {
  const { tenant, key } = await fixture.tenantWithKey();
  const memory = new MemoryClient({ url: fixture.url, apiKey: key, logger: SILENT });
  return {
    tenant,
    key,
    memory,
    create: (path: string, file_text: string) => memory.execute({ command: 'create', path, file_text }),
    replace: (old_str: string, new_str: string) =>
      memory.execute({ command: 'str_replace', path: A, old_str, new_str }),
  };
}

/** Follows the changes in the background, and returns their types and paths. */
function follow(memory: MemoryClient, options: ChangesOptions = {}) {
  const controller = new AbortController();
  const changes: string[] = [];
  const run = async () => {
    for await (const change of memory.changes({ ...options, signal: controller.signal })) {
      if (!('version' in change)) continue;
      const { type, version, content } = change;
      changes.push(`${type} ${version.path}${content === undefined ? '' : ` ${content}`}`);
    }
  };
  const ended = run();
  return {
    changes,
    ended,
    end: () => {
      controller.abort();
      return ended;
    },
  };
}

it('yields the changes in the history and each later change, with contents', async () => {
  const { memory, create, replace } = await createWriter();
  await create(A, 'one');
  const { changes, end } = follow(memory, { content: true });
  await expect.poll(() => changes).toHaveLength(1);
  await replace('one', 'zwei — ü');
  await memory.execute({ command: 'delete', path: A });
  await expect.poll(() => changes).toHaveLength(3);
  await end();
  expect(changes).toStrictEqual([`created ${A} one`, `modified ${A} zwei — ü`, `deleted ${A} null`]);
  const page = await memory.listChanges({ limit: 1, types: ['modified', 'deleted'] });
  expect(page).toMatchObject({ has_more: true, events: [{ type: 'modified', actor: { type: 'api_key' } }] });
});

it('yields each change once when connections break', async () => {
  const { key, create, replace } = await createWriter();
  const sockets = new Set<Socket>();
  let opened = 0;
  const proxy = createServer((client) => {
    opened++;
    const { hostname, port } = new URL(fixture.url);
    const upstream = connect(Number(port), hostname);
    for (const socket of [client, upstream]) {
      sockets.add(socket);
      socket.on('error', () => {});
      socket.on('close', () => sockets.delete(socket));
    }
    client.pipe(upstream).pipe(client);
  }).listen(0, '127.0.0.1');
  await once(proxy, 'listening');
  const { port } = proxy.address() as { port: number };
  const memory = new MemoryClient({ url: `http://127.0.0.1:${port}`, apiKey: key, logger: SILENT });
  const { changes, end } = follow(memory);
  await create(A, '0');
  for (let i = 0; i < 5; i++) {
    await expect.poll(() => changes).toHaveLength(i + 1);
    for (const socket of sockets) socket.resetAndDestroy();
    await replace(String(i), String(i + 1));
  }
  await expect.poll(() => changes).toHaveLength(6);
  await end();
  proxy.close();
  expect(changes).toStrictEqual([`created ${A}`, ...Array(5).fill(`modified ${A}`)]);
  expect(opened).toBe(6);
});

it('throws when the key is revoked', async () => {
  const { key, memory, create } = await createWriter();
  await create(A, 'one');
  const { changes, ended } = follow(memory);
  await expect.poll(() => changes).toHaveLength(1);
  const keys = new Keys(fixture.database());
  const { credential } = await new MemoryClient({ url: fixture.url, apiKey: key }).check();
  await keys.revoke(credential.id ?? '');
  await expect(ended).rejects.toMatchObject({ name: 'MemoryServiceError', status: 401 });
});

it('throws when the position has expired, or reads all files with resync', async () => {
  const { tenant, memory, create, replace } = await createWriter();
  await create(A, 'one');
  const { cursor: after } = await memory.listChanges();
  await replace('one', 'two');
  await fixture.query(
    "UPDATE tenants SET history_since = last_change_at + interval '1 microsecond' WHERE id = $1::text",
    [tenant],
  );
  await expect(memory.changes({ after }).next()).rejects.toMatchObject({ status: 410 });
  const read: string[] = [];
  const { changes, end } = follow(memory, {
    after,
    resync: async () => {
      for (const { path, content } of await memory.files().readAll('/')) read.push(`${path} ${content}`);
    },
  });
  await expect.poll(() => read).toStrictEqual(['/a.md two']);
  await create(B, 'three');
  await expect.poll(() => changes).toStrictEqual([`created ${B}`]);
  await end();
});

function startExample(name: string, args: string[], key: string) {
  const child = spawn(process.execPath, ['--import', 'tsx', `examples/${name}`, ...args], {
    cwd: new URL('../..', import.meta.url),
    env: { PATH: process.env.PATH, MEMORY_SERVICE_URL: fixture.url, MEMORY_SERVICE_API_KEY: key },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let output = '';
  child.stdout.on('data', (chunk) => {
    output += chunk;
  });
  return {
    lines: () => output.split('\n').slice(0, -1),
    async stop() {
      child.kill();
      await once(child, 'close');
    },
  };
}

it('keeps the index of examples/vector-index.ts in step', async () => {
  const { key, memory, create } = await createWriter();
  await create(A, 'The user likes green tea.');
  const { lines, stop } = startExample('vector-index.ts', ['where does the user live'], key);
  await expect.poll(lines).toStrictEqual([`1 files, the best: ${A}`]);
  await create(B, 'The user does live in Lyon.');
  await memory.execute({ command: 'rename', old_path: B, new_path: '/memories/c.md' });
  await memory.execute({ command: 'delete', path: '/memories/c.md' });
  await expect
    .poll(() => lines().slice(1))
    .toStrictEqual([
      `2 files, the best: ${B}`,
      '2 files, the best: /memories/c.md',
      `1 files, the best: ${A}`,
    ]);
  await stop();
});

it('commits each change in examples/git-mirror.ts, and continues after the last commit', async () => {
  const directory = await mkdtemp(join(tmpdir(), 'mirror-'));
  const repository = join(directory, 'mirror.git');
  const git = async (...args: string[]) =>
    (await promisify(execFile)('git', ['-C', repository, ...args])).stdout.trimEnd().split('\n');
  const { key, memory, create, replace } = await createWriter();
  await create(A, 'one');
  const first = startExample('git-mirror.ts', [repository], key);
  await expect.poll(first.lines).toHaveLength(1);
  await replace('one', 'two\n');
  await expect.poll(first.lines).toHaveLength(2);
  await first.stop();
  await memory.execute({ command: 'rename', old_path: A, new_path: '/memories/d/"b" ü.md' });
  await create(B, 'three');
  const second = startExample('git-mirror.ts', [repository], key);
  await expect.poll(second.lines).toHaveLength(2);
  await second.stop();
  expect(
    (await git('log', '--reverse', '--format=%an: %s')).map((line) => line.replace(/^\S+: /, '')),
  ).toStrictEqual(['Synchronize 1 files', `modified ${A}`, 'renamed /memories/d/"b" ü.md', `created ${B}`]);
  expect(await git('-c', 'core.quotePath=false', 'ls-tree', '-r', '-z', '--name-only', 'main')).toStrictEqual(
    ['b.md\0d/"b" ü.md\0'],
  );
  expect(await git('show', 'main:d/"b" ü.md')).toStrictEqual(['two']);
  expect(await git('log', '-1', '--format=%an', 'main~2')).not.toStrictEqual(['memory-service']);
  await rm(directory, { recursive: true });
});
