/**
 * A log reader that stops reading or whose disk is full must not stop the service.
 *
 * @module-tag long
 */
import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, constants, openSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { freePort } from '../support/faults/postgres-server.ts';
import { post } from '../support/process.ts';
import { cmd } from '../support/step-table.ts';
import { createTestDatabase } from '../support/test-database.ts';

const root = new URL('../..', import.meta.url);

let directory: string;
let database: Awaited<ReturnType<typeof createTestDatabase>>;
const children = new Set<ChildProcess>();

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'memory-service-log-'));
  database = await createTestDatabase();
});
afterAll(async () => {
  for (const child of children) child.kill('SIGKILL');
  await database.drop();
  await rm(directory, { recursive: true, force: true });
});

/** Starts the compiled service with its standard output on a file descriptor. Resolves when it is ready. */
async function serveTo(stdout: number) {
  const port = await freePort();
  const child = spawn(process.execPath, ['dist/main.js', 'serve'], {
    cwd: root,
    env: {
      PATH: process.env.PATH,
      AUTH: 'none',
      PORT: String(port),
      DATABASE_URL: database.url,
      LOG_LEVEL: 'debug',
    },
    stdio: ['ignore', stdout, 'ignore'],
  });
  children.add(child);
  const exit = once(child, 'exit').then(([code]) => code as number | null);
  const url = `http://127.0.0.1:${port}`;
  for (;;) {
    const ready = await fetch(`${url}/readyz`).catch(() => undefined);
    await ready?.text();
    if (ready?.status === 200) return { child, exit, url };
    if (child.exitCode !== null) throw new Error(`the service exited with ${child.exitCode}`);
  }
}

/** Sends `count` requests, each of which logs a line. Returns the response statuses. */
async function sendMany(url: string, count: number): Promise<Set<number>> {
  const statuses = new Set<number>();
  let left = count;
  const client = async () => {
    while (left-- > 0) {
      const response = await fetch(`${url}/healthz`, { headers: { 'x-request-id': 'x'.repeat(128) } });
      await response.text();
      statuses.add(response.status);
    }
  };
  await Promise.all(Array.from({ length: 32 }, client));
  return statuses;
}

async function droppedLines(url: string): Promise<number> {
  const text = await (await fetch(`${url}/metrics`)).text();
  return Number(/^memory_log_lines_dropped (\d+)$/m.exec(text)?.[1]);
}

/** Creates a pipe that holds 64 KiB and that only the test reads. */
function pipe(name: string): number {
  const path = join(directory, name);
  execFileSync('mkfifo', [path]);
  return openSync(path, constants.O_RDWR);
}

it("handles requests and SIGTERM while nothing reads the service's log", async () => {
  const stdout = pipe('stalled');
  const service = await serveTo(stdout);
  // Far more lines than the pipe holds.
  expect(await sendMany(service.url, 2000)).toStrictEqual(new Set([200]));
  expect((await post(service.url, cmd.create('/memories/f', 'x'))).status).toBe(200);
  service.child.kill('SIGTERM');
  expect(await service.exit).toBe(0);
  closeSync(stdout);
});

it('writes only complete log lines, and reports the number dropped, when a reader resumes', async () => {
  const stdout = pipe('late');
  const service = await serveTo(stdout);
  // More than 4 MiB of lines, the maximum that the service buffers.
  expect(await sendMany(service.url, 20_000)).toStrictEqual(new Set([200]));
  const dropped = await droppedLines(service.url);
  const reader = spawn('cat', [join(directory, 'late')], { stdio: ['ignore', 'pipe', 'ignore'] });
  children.add(reader);
  let reported: { dropped: number } | undefined;
  for await (const line of createInterface({ input: reader.stdout })) {
    const entry = JSON.parse(line);
    if (entry.msg !== 'log lines dropped') continue;
    reported = entry;
    break;
  }
  // The requests for metrics are logged as well.
  expect(reported?.dropped).toBeGreaterThanOrEqual(dropped);
  expect(dropped).toBeGreaterThan(0);
  service.child.kill('SIGTERM');
  expect(await service.exit).toBe(0);
  reader.kill();
  closeSync(stdout);
});

it('keeps running when the disk for the log is full', async () => {
  const stdout = openSync('/dev/full', 'w');
  const service = await serveTo(stdout);
  expect(await sendMany(service.url, 2000)).toStrictEqual(new Set([200]));
  expect((await post(service.url, cmd.view('/memories'))).status).toBe(200);
  service.child.kill('SIGTERM');
  expect(await service.exit).toBe(0);
  closeSync(stdout);
});
