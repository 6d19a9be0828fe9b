/** @module-tag long What `npm start` builds before it starts, in a copy of this checkout. */
import { execFile } from 'node:child_process';
import { appendFile, cp, mkdir, mkdtemp, readdir, rm, stat, symlink, utimes } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, inject, it } from 'vitest';

const root = join(import.meta.dirname, '../..');
let copy: string;

beforeAll(async () => {
  copy = await mkdtemp(join(inject('scratch'), 'checkout-'));
  const isCopied = (path: string) => !/\/(dist|node_modules)$/.test(path);
  for (const path of ['package.json', 'package-lock.json', 'tsconfig.json']) {
    await cp(join(root, path), join(copy, path));
  }
  for (const path of ['bin', 'src', 'console', 'scripts', 'clients', 'migrations']) {
    await cp(join(root, path), join(copy, path), { recursive: true, filter: isCopied });
  }
  // The console's packages, which npm does not share with the other workspaces.
  await symlink(join(root, 'console/node_modules'), join(copy, 'console/node_modules'));
  await mkdir(join(copy, 'node_modules'));
  for (const name of await readdir(join(root, 'node_modules'))) {
    if (name !== '.cache') await symlink(join(root, 'node_modules', name), join(copy, 'node_modules', name));
  }
});
afterAll(() => rm(copy, { recursive: true }));

const service = 'dist/main.js';
const page = 'console/dist/index.html';
const template = 'template';
const outputs = [service, page, template];

/** Runs the build step in `npm start` and returns the outputs that it wrote. */
async function build(...parts: string[]): Promise<string[]> {
  const times = () => Promise.all(outputs.map(writtenAt));
  const before = await times();
  await promisify(execFile)('npm', ['run', '--silent', 'prestart', ...parts], { cwd: copy });
  const after = await times();
  return outputs.filter((_, i) => after[i] !== before[i]);
}

async function writtenAt(path: string): Promise<number | undefined> {
  return stat(join(copy, path)).then(
    ({ mtimeMs }) => mtimeMs,
    () => undefined,
  );
}

it('builds everything in a fresh checkout, and nothing on the second run', async () => {
  expect(await build()).toStrictEqual(outputs);
  expect(await build()).toStrictEqual([]);
});

it("builds nothing if a file's time changes but not its content", async () => {
  await utimes(join(copy, 'src/main.ts'), new Date(), new Date());
  expect(await build()).toStrictEqual([]);
});

it('builds the outputs whose sources changed', async () => {
  await appendFile(join(copy, 'console/src/styles/tokens.css'), '\n:root { --pulled: 1px; }\n');
  expect(await build()).toStrictEqual([page]);
  await appendFile(join(copy, 'src/main.ts'), '\n// pulled\n');
  expect(await build()).toContain(service);
  expect(await build()).toStrictEqual([]);
});

it('builds an output again if it was deleted', async () => {
  await rm(join(copy, 'dist/service/server.js'));
  expect(await build()).toStrictEqual([service]);
  await rm(join(copy, 'console/dist'), { recursive: true });
  expect(await build()).toStrictEqual([page]);
  await rm(join(copy, 'template'), { recursive: true });
  expect(await build()).toStrictEqual([template]);
});

it('creates another template if the schema changes, and keeps it otherwise', async () => {
  const names = () => readdir(join(copy, 'template'));
  const before = await names();
  await appendFile(join(copy, 'src/core/database/pool.ts'), '\n// pulled\n');
  expect(await build('service', 'template')).toStrictEqual([service]);
  await appendFile(join(copy, 'migrations/functions/memory_change.sql'), '\n-- pulled\n');
  expect(await build('service', 'template')).toStrictEqual([template]);
  expect(await names()).toHaveLength(1);
  expect(await names()).not.toStrictEqual(before);
});

it('builds only the parts that are named as arguments and have changed', async () => {
  await rm(join(copy, 'dist/service/server.js'));
  await rm(join(copy, 'console/dist'), { recursive: true });
  expect(await build('console')).toStrictEqual([page]);
  expect(await build()).toStrictEqual([service]);
});
